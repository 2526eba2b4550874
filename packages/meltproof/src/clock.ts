/** The only file of meltproof that reads time. Pure code receives a number of milliseconds instead. */
import { performance } from 'node:perf_hooks'

/** Monotonic ms, to the microsecond: setting the wall clock (NTP) does not move it, so waits keep their length. */
export const now: () => number = () => performance.now()

/** Monotonic ms on the clock of all threads. Uses no outer variable, because culprit/ passes its text to a thread. */
export const threadsClockMs: () => number = () => Number(process.hrtime.bigint()) / 1e6

/** Milliseconds since 1970, for times that people read. Never subtract two of them: the wall clock jumps. */
export const wallClockMs: () => number = () => Date.now()
/** Whole hours since 1970. Processes of a fleet disagree on it only around the full hour. */
export function hourNow(): number {
  return Math.floor(Date.now() / 3_600_000)
}

/** A Date for a value of {@link wallClockMs}. */
export const dateAt = (timeMs: number): Date => new Date(timeMs)

let dateText = ''
let dateUntilMs = Number.NEGATIVE_INFINITY

/** The value of an HTTP `Date` header (RFC 9110 section 5.6.7) at monotonic time `nowMs`. It is built once a second. */
export function httpDate(nowMs: number): string {
  if (nowMs >= dateUntilMs) {
    const date = new Date()
    dateText = date.toUTCString()
    dateUntilMs = nowMs + 1000 - date.getMilliseconds()
  }
  return dateText
}
