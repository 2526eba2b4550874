/**
 * Decides which pending writes keep the process alive: those with a callback, and the others once the app has listened
 * for 'drain' or piped. In Node all pending writes do. But a service that uses console.log must be able to end when its
 * reader has stopped.
 */

/** Stands for the callback of a write without one. It is never called. */
export const NO_CALLBACK = (): void => undefined

/** console.log passes its own callback, always the same (Node 20 to 26). */
const { _stdoutErrorHandler: ofLog, _stderrErrorHandler: ofError } = console as unknown as Record<string, unknown>

export class PendingWrites {
  private withCallback = 0
  private withoutCallback = 0
  /** True once the app has listened for 'drain' or piped. */
  respectsBackpressure = false

  /** Changes the number of pending writes: `by` is 1 when a write begins, and -1 when it has ended. */
  count(done: unknown, by: 1 | -1): void {
    if (done === NO_CALLBACK) this.withoutCallback += by
    else if (!isOfConsole(done)) this.withCallback += by
  }

  /** `awaitsDrain`: whether a listener waits for a future 'drain'. */
  keepAlive(awaitsDrain: () => boolean): boolean {
    return this.withCallback > 0 || (this.respectsBackpressure && (this.withoutCallback > 0 || awaitsDrain()))
  }
}

/** True for console's callbacks, which only handle errors, and for undefined: writes through `fs` have no callback. */
export function isOfConsole(done: unknown): boolean {
  return done === undefined || done === ofLog || done === ofError
}
