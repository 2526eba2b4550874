/**
 * Which pending writes keep the process alive. In Node all do. Here those do that somebody is seen to wait for, by a
 * callback, by listening for 'drain', or by having listened for it before. Nobody waits for a line of console.log, and a
 * service whose log reader has stopped is to end by itself.
 */

/** Stands for the callback of a write to a stream that came without one. It is never called. */
export const NO_CALLBACK = (): void => undefined

/** console.log passes a callback of its own, always the same (Node 20 to 26, also in worker threads). */
const { _stdoutErrorHandler: ofLog, _stderrErrorHandler: ofError } = console as unknown as Record<string, unknown>

export class PendingWrites {
  private withCallback = 0
  private withoutCallback = 0
  /** Somebody was told to wait, by a `false` or by `writableNeedDrain`, and 'drain' has not come since. */
  private toldToWait = false
  /** As far as we have seen, who writes without a callback waits for 'drain'. */
  private heeds = false

  /** A write waits now. Returns whether it keeps the process alive. */
  add(done: unknown): boolean {
    if (isOfConsole(done)) return false
    if (done !== NO_CALLBACK) {
      this.withCallback++
      return true
    }
    this.withoutCallback++
    return this.heeds
  }

  /** A write is written or given up. */
  settle(done: unknown): void {
    if (done === NO_CALLBACK) this.withoutCallback--
    else if (!isOfConsole(done)) this.withCallback--
  }

  /** The answer to a write is `false`. Returns whether that is news to the writers. */
  tellToWait(done: unknown): boolean {
    if (isOfConsole(done)) return false
    const told = this.toldToWait
    this.toldToWait = true
    if (told) this.heeds = false // told before, and wrote on
    return !told
  }

  /** Somebody begins to listen for the 'drain' that is to come. */
  drainAwaited(): void {
    this.toldToWait = this.heeds = true
  }

  /** A readable is piped into the stream: it will wait for 'drain'. */
  piped(): void {
    this.heeds = true
  }

  drained(): void {
    this.toldToWait = false
  }

  /** `listens` tells whether somebody listens for 'drain' at this moment. */
  keepAlive(listens: () => boolean): boolean {
    if (this.withCallback > 0) return true
    if (!this.toldToWait || !listens()) return this.heeds && this.withoutCallback > 0
    this.heeds = true
    return true
  }
}

/** A callback of console's own, which does nothing unless there is an error, or none, for writes past the stream. */
export function isOfConsole(done: unknown): boolean {
  return done === undefined || done === ofLog || done === ofError
}
