/**
 * The stall ledger of this process, and the heartbeat that feeds it. The heartbeat runs only while somebody holds it,
 * costs an idle process under 1 % of a core then, nearly all of it the waking up (bench/deadline.ts), and never keeps the
 * process alive.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { performance } from 'node:perf_hooks'
import { clearInterval, setInterval } from 'node:timers'
import { stalls } from '../channels.ts'
import { now } from '../clock.ts'
import { STALL_TUNING, type Stall, StallLedger } from './stall-ledger.ts'

const ledger = new StallLedger()
/** Runs outside of every async context: the heartbeat must not hold on to the request that happened to start it. */
const atRoot: <R>(run: () => R) => R = AsyncLocalStorage.snapshot()
let holders = 0
let heartbeat: NodeJS.Timeout | undefined

/**
 * Keeps the heartbeat going until the returned function is called; call it once, further calls do nothing. Stalls are
 * known from the moment of the first hold.
 */
export function hold(): () => void {
  holdCounted()
  let held = true
  return () => {
    if (held) releaseCounted()
    held = false
  }
}

/** {@link hold} for a caller that counts for itself: every call is paired with one of {@link releaseCounted}. */
export function holdCounted(): void {
  holders++
  if (heartbeat === undefined) start()
}

/** The heartbeat ends with its next beat rather than at once: whoever arms and clears often pays for neither. */
export function releaseCounted(): void {
  holders--
}

/** Milliseconds of stall of this process's event loop within [fromMs, toMs], on the clock of clock.ts. */
export function stalledBetween(fromMs: number, toMs: number): number {
  return ledger.stalledBetween(fromMs, toMs, ledger.overdue(toMs) ? idleMs() : 0)
}

/** The stalls that touch [fromMs, toMs], oldest first; about the last minute is remembered. */
export function stallsBetween(fromMs: number, toMs: number): Stall[] {
  return ledger.stallsBetween(fromMs, toMs)
}

/** Whether stalls are being watched at this moment. */
export function isBeating(): boolean {
  return heartbeat !== undefined
}

function start(): void {
  ledger.start(now(), idleMs())
  atRoot(() => {
    heartbeat = setInterval(beat, STALL_TUNING.periodMs).unref()
  })
}

function beat(): void {
  const nowMs = now()
  const stalled = stalls.hasSubscribers && ledger.overdue(nowMs)
  ledger.beat(nowMs, idleMs())
  if (stalled) for (const stall of ledger.stallsBetween(nowMs - 1, nowMs)) stalls.publish(stall)
  if (holders > 0) return
  clearInterval(heartbeat)
  heartbeat = undefined
  ledger.stop()
}

/** How long the loop has waited for something to do since the process began. */
function idleMs(): number {
  return performance.nodeTiming.idleTime
}
