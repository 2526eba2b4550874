/**
 * The only place in meltproof that reads time. Everything pure takes a number of milliseconds instead.
 */
import { performance } from 'node:perf_hooks'

/**
 * Monotonic time in milliseconds, with microsecond resolution. Never steps when the wall clock is set,
 * so no limit, wait or window can be stretched or cut by NTP or an operator.
 */
export const now: () => number = () => performance.now()

/** The same on the clock that all threads share. It has no closure: the watcher of culprit/ gets it as text. */
export const threadsClockMs: () => number = () => Number(process.hrtime.bigint()) / 1e6

/** Milliseconds since 1970, for what people read. Never subtract one from another: it steps. */
export const wallClockMs: () => number = () => Date.now()
/** Whole hours since the epoch: what every process of a fleet agrees on, near enough. */
export function hourNow(): number {
  return Math.floor(Date.now() / 3_600_000)
}

/** A point in time of {@link wallClockMs}, to be written out. */
export const dateAt = (timeMs: number): Date => new Date(timeMs)

let dateText = ''
let dateUntilMs = Number.NEGATIVE_INFINITY

/** The value of an HTTP `Date` header (RFC 9110 section 5.6.7) at monotonic time `nowMs`; made once a second. */
export function httpDate(nowMs: number): string {
  if (nowMs >= dateUntilMs) {
    const date = new Date()
    dateText = date.toUTCString()
    dateUntilMs = nowMs + 1000 - date.getMilliseconds()
  }
  return dateText
}
