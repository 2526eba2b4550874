/**
 * The cancellations of one pool. Each is a connection of its own to a server that may be in trouble already, so only
 * some go at once. One whose query ends while it waits for its turn is never made.
 */
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import { Turns } from './turns.ts'

/** PostgreSQL starts a process for each. */
const MOST_AT_ONCE = 8
/** One that takes longer is given up, ms: connecting and sending twenty bytes takes a few. */
const CANCELLATION_MS = 2000

/**
 * How one ended. `processed`: the server has taken it, so it does not come later. `unsent`: it never left.
 * `unknown`: it may still arrive.
 */
export type CancellationOutcome = 'processed' | 'unsent' | 'unknown'

/**
 * Begins a cancellation; calls `done` once it is over, however it ended. Returns a function that gives it up, after
 * which it must call `done` too.
 */
export type Cancellation = (done: (outcome: CancellationOutcome) => void) => () => void

export class Cancellations {
  readonly #turns: Turns = new Turns(() => MOST_AT_ONCE)

  /**
   * Runs it now or in its turn, and calls `over` then. Returns a function that takes it back: true if it had not begun,
   * and `over` is not called. Never throws.
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
        // Nobody to tell: the call it belongs to has been answered already.
        done('unsent')
      }
    })
  }
}

/** Of connections that are in no pool. */
export const loneCancellations: Cancellations = new Cancellations()
