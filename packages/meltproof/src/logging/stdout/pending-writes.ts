/**
 * Which pending writes keep the process alive. In Node all do. Here those do that somebody waits for: writes with a
 * callback, and once somebody has waited for 'drain', or has piped into the stream, those without. Nobody waits for a
 * line of console.log, and a service whose log reader has stopped is to end by itself.
 */

/** Stands for the callback of a write to a stream that came without one. It is never called. */
export const NO_CALLBACK = (): void => undefined

/** console.log passes a callback of its own, always the same (Node 20 to 26, also in worker threads). */
const { _stdoutErrorHandler: ofLog, _stderrErrorHandler: ofError } = console as unknown as Record<string, unknown>

export class PendingWrites {
  private withCallback = 0
  private withoutCallback = 0
  /** Somebody heeds back-pressure. */
  private heeded = false

  add(done: unknown): void {
    this.count(done, 1)
  }

  /** A write is written or given up. */
  settle(done: unknown): void {
    this.count(done, -1)
  }

  /** Somebody listens for 'drain', or pipes into the stream. */
  heed(): void {
    this.heeded = true
  }

  /** `awaitsDrain`: somebody listens for a 'drain' that is still to come. */
  keepAlive(awaitsDrain: () => boolean): boolean {
    return this.withCallback > 0 || (this.heeded && (this.withoutCallback > 0 || awaitsDrain()))
  }

  private count(done: unknown, by: 1 | -1): void {
    if (done === NO_CALLBACK) this.withoutCallback += by
    else if (!isOfConsole(done)) this.withCallback += by
  }
}

/** A callback of console's own, which does nothing unless there is an error, or none, for writes past the stream. */
export function isOfConsole(done: unknown): boolean {
  return done === undefined || done === ofLog || done === ofError
}
