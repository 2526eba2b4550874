/**
 * The cancellations of one pool. Each opens a connection, for which PostgreSQL starts a process, and the server may
 * already be in trouble. So only a few run at the same time. If a query ends while its cancellation waits, the
 * cancellation is not sent.
 */
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import { Semaphore } from './semaphore.ts'

const MOST_AT_ONCE = 8
const CANCELLATION_MS = 2000

/** How a cancellation ended. `processed`: by the server. `unsent`: never sent. `unknown`: it may still arrive. */
export type CancellationOutcome = 'processed' | 'unsent' | 'unknown'

/** Begins a cancellation; calls `done` at its end. Returns a function that abandons it, and then calls `done` too. */
export type Cancellation = (done: (outcome: CancellationOutcome) => void) => () => void

export class Cancellations {
  readonly #turns: Semaphore = new Semaphore(() => MOST_AT_ONCE)

  /**
   * Runs the cancellation in its turn, then calls `over`. The returned function withdraws it, and returns true if it
   * had not begun. Never throws.
   */
  run(cancellation: Cancellation, over: (outcome: CancellationOutcome) => void): () => boolean {
    return this.#turns.take(next => {
      let timer: FairTimer | undefined
      let ended = false
      const done = (outcome: CancellationOutcome): void => {
        if (ended) return
        ended = true
        timer?.cancel()
        over(outcome)
        next()
      }
      try {
        const giveUp = cancellation(done)
        if (!ended) timer = startFairTimer(CANCELLATION_MS, giveUp)
      } catch {
        // Not reported, because the caller of the query already has an error.
        done('unsent')
      }
    })
  }
}

export const loneCancellations: Cancellations = new Cancellations()
