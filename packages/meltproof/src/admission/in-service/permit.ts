/**
 * The permit of a request: its leave to be in service. It ends once. Only permits.ts changes it.
 *
 *     none -> held -> ended
 *     none -> held -> lent -> ended    a straggler goes on, or a stream waits for its client; its place counts as free
 *                   <- lent            the stream is at work again
 *
 * An exchange is its own permit, so that a request allocates one object and not two.
 */
import type { Serving } from './service-times.ts'

export class Permit implements Serving {
  startedAt = 0
  // Set by service-times.ts.
  servingSince = 0
  kindNoted = 0
  answeredThen = 0
  besideThen = 0
  /** Nobody waits for the answer any more, and the handler was not seen to end. */
  abandoned = false
  #state: 'none' | 'held' | 'lent' | 'ended' = 'none'

  get holdsPermit(): boolean {
    return this.#state === 'held'
  }

  /** Its handler is at work and its end is still to be told. */
  get inService(): boolean {
    return this.#state === 'held' || this.#state === 'lent'
  }

  holdPermit(nowMs: number): void {
    this.startedAt = nowMs
    this.#state = 'held'
  }

  lendPermit(): void {
    this.#state = 'lent'
  }

  /** How the request was in service until now; undefined when its permit has ended, or never began. */
  endPermit(): 'held' | 'lent' | undefined {
    const state = this.#state
    if (state === 'none' || state === 'ended') return undefined
    this.#state = 'ended'
    return state
  }
}
