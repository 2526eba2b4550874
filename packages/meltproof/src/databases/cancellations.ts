/**
 * The cancellations of one pool. Each is a connection of its own, for which PostgreSQL starts a process, to a server
 * that may be in trouble already: so only some go at once. One whose query ends while it waits for its turn is never
 * made.
 */
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import { Semaphore } from './semaphore.ts'

const MOST_AT_ONCE = 8
const CANCELLATION_MS = 2000

/** `processed`: the server has taken it. `unsent`: it never left. `unknown`: it may still arrive. */
export type CancellationOutcome = 'processed' | 'unsent' | 'unknown'

/** Begins one; calls `done` once it is over. Returns what gives it up, and then calls `done` too. */
export type Cancellation = (done: (outcome: CancellationOutcome) => void) => () => void

export class Cancellations {
  readonly #turns: Semaphore = new Semaphore(() => MOST_AT_ONCE)

  /** Runs it in its turn, then calls `over`. Returns what takes it back: true if it had not begun. Never throws. */
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
        // Not reported: the call it belongs to has been answered already.
        done('unsent')
      }
    })
  }
}

export const loneCancellations: Cancellations = new Cancellations()
