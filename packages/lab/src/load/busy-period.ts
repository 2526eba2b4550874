/**
 * Computes how much of a request's latency the generator caused by sending it, or requests before it, late. Pure.
 *
 * When a request is sent late, the server may have been idle before it, and the postponed work delays all later
 * requests until the server has caught up. A server that works in order delays none of them by more than the lateness
 * of the first request of the busy period. A busy period is assumed to begin and end when no more requests are in
 * flight than at the quietest recent moment, because a slow server always has some in flight.
 */

/** Length of the window in which the quietest moment is sought, ms; it grows during the run. */
const SHORTEST_WINDOW_MS = 50
const LONGEST_WINDOW_MS = 1000

export class BusyPeriod {
  #firstLateMs = 0
  /** Minimum in flight in the last window, and in the current one. */
  #quietest = 0
  #fewest = Number.POSITIVE_INFINITY
  #windowEnds = SHORTEST_WINDOW_MS

  /** The maximum delay, ms, of a request sent at `now`, `lateMs` after it was due, with `inflight` others in flight. */
  delayOf(lateMs: number, inflight: number, now: number): number {
    if (now >= this.#windowEnds) {
      this.#quietest = this.#fewest
      this.#fewest = inflight
      this.#windowEnds = now + Math.min(LONGEST_WINDOW_MS, Math.max(SHORTEST_WINDOW_MS, now))
    } else if (inflight < this.#fewest) {
      this.#fewest = inflight
    }
    if (inflight <= this.#quietest) this.#firstLateMs = lateMs
    return Math.max(lateMs, this.#firstLateMs)
  }
}
