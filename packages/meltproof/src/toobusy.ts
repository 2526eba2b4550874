/**
 * meltproof/toobusy: the API of toobusy-js 0.5.1, so that an app that calls `toobusy()` only needs to replace the
 * require. `protect()` decides better and earlier (docs/from-toobusy-js.md says why). This module does not call it.
 *
 * Two measurements differ, so that lag is never reported falsely: toobusy-js counts a step of the wall clock as lag,
 * and also the time between shutdown() and the next start.
 */
import { EventEmitter } from 'node:events'
import { now } from './clock.ts'
import { asMeltproofError } from './errors.ts'

/** The function of toobusy-js 0.5.1. A method without argument (or with 0) reads; with one it sets. @experimental */
export interface TooBusy {
  /** True with probability `lag / maxLag - 1`: never at or below maxLag, always from twice maxLag on. */
  (): boolean
  /** The smoothed lag of the event loop in whole ms: how late the recent checks were. */
  lag(): number
  /** Reads or sets the lag above which the process counts as busy, in whole ms, at least 10. @default 70 */
  maxLag(newLag?: number): number
  /**
   * Reads or sets how often the lag is measured, in whole ms, at least 16. Setting it resets the lag to 0. As in
   * toobusy-js, the next check still measures from the check before the change.
   * @default 500
   */
  interval(newInterval?: number): number
  /** Reads or sets the weight of the newest measurement, above 0 up to 1 (no smoothing). @default 1/3 */
  smoothingFactor(newFactor?: number): number
  /**
   * Calls `fn` with the lag (ms) at every check that finds it above `threshold`, by default the current maxLag. All
   * listeners share one threshold: the one given last.
   */
  onLag(fn: (lag: number) => void, threshold?: number): void
  /** Stops the checks; the lag then reads 0. Optional: the timer does not keep the process alive. */
  shutdown(): void
  /** Whether the checks run; they start when the module is imported. */
  started(): boolean
}

/** Limits of toobusy-js. */
const LEAST_INTERVAL_MS = 16
const LEAST_MAX_LAG_MS = 10

// Defaults of toobusy-js.
let maxLagMs = 70
let intervalMs = 500
let smoothing = 1 / 3
let lagMs = 0
let lastCheckMs = now()
let timer: NodeJS.Timeout | undefined
/** With this value no event is emitted, as in toobusy-js. */
const NO_THRESHOLD = -1
let eventAboveMs = NO_THRESHOLD
const events = new EventEmitter()

function check(): void {
  const checkedMs = now()
  const late = Math.max(0, checkedMs - lastCheckMs - intervalMs)
  lastCheckMs = checkedMs
  lagMs = smoothing * late + (1 - smoothing) * lagMs
  if (eventAboveMs !== NO_THRESHOLD && lagMs > eventAboveMs) events.emit('lag', lagMs)
}

function start(): void {
  timer = setInterval(check, intervalMs)
  timer.unref()
}

function shutdown(): void {
  lagMs = 0
  clearInterval(timer)
  timer = undefined
}

/** Name and message are those of toobusy-js, because callers may match them. Only `code` is meltproof's. */
function invalid(message: string): never {
  throw asMeltproofError(new Error(message), 'MELTPROOF_OPTION_INVALID')
}

/** Neither an arrow function nor a method, so that `new toobusy()` works as in toobusy-js. @experimental */
const toobusy = function toobusy() {
  return Math.random() < (lagMs - maxLagMs) / maxLagMs
} as TooBusy

// Assigned one by one, in this order, so that the functions have no names, as in toobusy-js. A falsy argument reads.
toobusy.interval = newInterval => {
  if (!newInterval) return intervalMs
  if (typeof newInterval !== 'number') invalid('Interval must be a number.')
  const rounded = Math.round(newInterval)
  if (rounded < LEAST_INTERVAL_MS) invalid('Interval should be greater than 16ms.')
  if (timer === undefined) lastCheckMs = now()
  shutdown()
  intervalMs = rounded
  start()
  return intervalMs
}
toobusy.lag = () => Math.round(lagMs)
toobusy.maxLag = newLag => {
  if (!newLag) return maxLagMs
  if (typeof newLag !== 'number') invalid('MaxLag must be a number.')
  const rounded = Math.round(newLag)
  if (rounded < LEAST_MAX_LAG_MS) invalid('Maximum lag should be greater than 10ms.')
  maxLagMs = rounded
  return maxLagMs
}
toobusy.smoothingFactor = newFactor => {
  if (!newFactor) return smoothing
  if (typeof newFactor !== 'number') invalid('NewFactor must be a number.')
  if (newFactor <= 0 || newFactor > 1) invalid('Smoothing factor should be in range ]0,1].')
  smoothing = newFactor
  return smoothing
}
toobusy.shutdown = () => shutdown()
toobusy.started = () => timer !== undefined
toobusy.onLag = (fn, threshold) => {
  eventAboveMs = typeof threshold === 'number' ? threshold : maxLagMs
  events.on('lag', fn)
}

start()

export default toobusy
/** What `require('meltproof/toobusy')` returns: Node uses an export of this name instead of the namespace. */
export { toobusy as 'module.exports' }
