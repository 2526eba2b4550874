/**
 * Brings a connection back into use after a query whose deadline has passed. A cancel is tied to a connection, not to a
 * query: one that arrives late hits the statement that runs next. So nothing else is sent until
 * 1. the server has taken the cancel, or it was never sent, and
 * 2. the server has said that the query is over, cancelled or not, and
 * 3. an empty round trip has come back: a cancel that was taken but had not struck yet hits that.
 * A connection for which one of these does not come is lost.
 */
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import type { CancellationOutcome } from './cancellations.ts'

/** How long to wait for each answer, ms. A database looks for interrupts every few milliseconds. */
const PATIENCE_MS = 2000

export interface Recoverable {
  /** As Cancellations.run(); undefined when there is nothing to cancel. */
  cancel(over: (outcome: CancellationOutcome) => void): (() => boolean) | undefined
  /** Begins the round trip, whose end is {@link Recovery.answered}. `needed` is false when no cancel was sent. */
  probe(needed: boolean): void
  recovered(): void
  /** The answer is overdue. Unless the cancel may still arrive, it recovers when the answer comes after all. */
  lost(): void
}

export class Recovery {
  readonly #connection: Recoverable
  #takeBack: (() => boolean) | undefined
  #outcome: CancellationOutcome | undefined
  #queryOver = false
  #probed = false
  #stopped = false
  #timer: FairTimer | undefined

  constructor(connection: Recoverable) {
    this.#connection = connection
  }

  begin(): void {
    this.#takeBack = this.#connection.cancel(outcome => {
      if (this.#stopped) return
      this.#outcome = outcome
      if (outcome === 'unknown') this.#lost()
      else this.#next()
    })
    if (this.#takeBack !== undefined) return
    this.#outcome = 'unsent'
    this.#next()
  }

  /** The server has said that the query is over. */
  queryEnded(): void {
    if (this.#takeBack?.() === true) this.#outcome = 'unsent'
    this.#queryOver = true
    this.#next()
  }

  /** The round trip has come back. */
  answered(): void {
    if (this.#stopped) return
    this.stop()
    this.#connection.recovered()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#takeBack?.()
  }

  #lost(): void {
    this.stop()
    this.#connection.lost()
  }

  #next(): void {
    if (this.#stopped || this.#outcome === undefined || this.#probed) return
    this.#timer?.cancel()
    this.#timer = startFairTimer(PATIENCE_MS, () => this.#connection.lost())
    if (!this.#queryOver) return
    this.#probed = true
    this.#connection.probe(this.#outcome === 'processed')
  }
}
