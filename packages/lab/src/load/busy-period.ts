/**
 * How much of a request's latency the generator caused by being late, its own and that of those before it. Pure.
 *
 * A late request finds a server that may have had nothing to do meanwhile, and the work it should have done by then delays
 * all who come behind, until the server has caught up. Serving in order, it delays none of them by more than the first of
 * the busy period was late. Seen from here, a busy period begins and ends when no more requests are in flight than at the
 * quietest moment of late: a server that takes its time has always some.
 */

/** How far back the quietest moment is looked for, milliseconds. It grows from the first to the second as the run goes on. */
const SHORTEST_WINDOW_MS = 50
const LONGEST_WINDOW_MS = 1000

export class BusyPeriod {
  #firstLateMs = 0
  /** Fewest in flight in the last window, and in this one. */
  #quietest = 0
  #fewest = Number.POSITIVE_INFINITY
  #windowEnds = SHORTEST_WINDOW_MS

  /** Of a request sent at `now`, `lateMs` after it was due, with `inflight` others on their way: milliseconds, at most. */
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
