/**
 * What an outlet owes to those who write to it, and so whether what waits in it keeps the process alive.
 *
 * In Node any pending write does. Here only a writer that can be seen to wait does: one with a callback, one that waits
 * for 'drain', and what was written without a callback by those who wait for 'drain' now and then. Nobody waits for a
 * line of console.log, and a service whose log reader has stopped is to end by itself.
 */

/** The callback of a write to a stream that was given none. It is never called. */
export const UNHEARD = (): void => undefined

/** console.log passes a callback of its own, always the same (Node 20 to 26, also in worker threads). */
const { _stdoutErrorHandler: ofLog, _stderrErrorHandler: ofError } = console as unknown as Record<string, unknown>

export class OutletDebt {
  /** Callbacks that wait. */
  private callbacks = 0
  /** Writes without one that wait. */
  private unheard = 0
  /** Somebody was told to wait, by a false or by `writableNeedDrain`, and 'drain' has not come since. */
  private refused = false
  /** Who writes without a callback waits for 'drain', as far as we have seen. */
  private heeded = false

  /** A write waits now. Whether it alone is owed. */
  add(done: unknown): boolean {
    if (done === UNHEARD) {
      this.unheard++
      return this.heeded
    }
    if (isOfConsole(done)) return false
    this.callbacks++
    return true
  }

  /** It is written or given up. */
  settle(done: unknown): void {
    if (done === UNHEARD) this.unheard--
    else if (!isOfConsole(done)) this.callbacks--
  }

  /** A write is answered with false. Whether that is news to those who wait for 'drain'. */
  refuse(done: unknown): boolean {
    if (isOfConsole(done)) return false
    const before = this.refused
    this.refused = true
    // Told before, and wrote on.
    if (before) this.heeded = false
    return !before
  }

  /** Somebody begins to wait for the 'drain' that is to come. */
  awaited(): void {
    this.refused = this.heeded = true
  }

  /** A readable is piped into the stream: it will wait for 'drain'. */
  piped(): void {
    this.heeded = true
  }

  drained(): void {
    this.refused = false
  }

  /** `listens`: whether somebody waits for 'drain' at this moment. */
  owes(listens: () => boolean): boolean {
    if (this.callbacks > 0) return true
    if (!this.refused || !listens()) return this.heeded && this.unheard > 0
    this.heeded = true
    return true
  }
}

/** One of console's own, which do nothing unless there is an error; or the undefined of writes past the stream. */
export function isOfConsole(done: unknown): boolean {
  return done === undefined || done === ofLog || done === ofError
}
