/**
 * Brings a connection back into use after a query whose deadline has passed. A cancel is tied to a connection, not to a
 * query: one that arrives late hits whatever runs next. So the connection stays occupied until
 * 1. the server has said that the query is over, cancelled or not, and
 * 2. the server has taken the cancel, or it was never sent, and
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
  /** One round trip. Settles when the server has answered or the connection is gone. */
  probe(): Promise<unknown>
  /** It may be used again. */
  recovered(): void
  /** The answer is overdue. It may still recover until {@link Recovery.stop}. */
  lost(): void
}

export class Recovery {
  readonly #connection: Recoverable
  #running: boolean
  #cancelling = false
  #mayStrike = false
  #takeBack: (() => boolean) | undefined
  #timer: FairTimer | undefined
  #stopped = false

  /** @param running false when no query runs any more and a round trip is all that is missing */
  constructor(connection: Recoverable, running: boolean) {
    this.#connection = connection
    this.#running = running
  }

  start(): void {
    if (!this.#running) {
      this.#probe()
      return
    }
    this.#cancelling = true
    this.#takeBack = this.#connection.cancel(outcome => this.#cancelled(outcome))
    if (this.#takeBack !== undefined) return
    this.#cancelling = false
    this.#watch()
  }

  /** The server has said that the query is over. */
  queryEnded(): void {
    this.#running = false
    if (this.#cancelling && this.#takeBack?.() === true) this.#cancelling = false
    this.#advance()
  }

  /** Forgets the connection: nothing is called any more. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#takeBack?.()
  }

  #cancelled(outcome: CancellationOutcome): void {
    if (this.#stopped) return
    this.#cancelling = false
    this.#mayStrike = outcome !== 'unsent'
    if (outcome === 'unknown') {
      this.stop()
      this.#connection.lost()
    } else if (this.#running) this.#watch()
    else this.#advance()
  }

  #advance(): void {
    if (this.#stopped || this.#running || this.#cancelling) return
    this.#timer?.cancel()
    if (this.#mayStrike) this.#probe()
    else this.#recovered()
  }

  #probe(): void {
    this.#watch()
    const answered = (): void => this.#recovered()
    this.#connection.probe().then(answered, answered)
  }

  #recovered(): void {
    if (this.#stopped) return
    this.stop()
    this.#connection.recovered()
  }

  #watch(): void {
    this.#timer?.cancel()
    this.#timer = startFairTimer(PATIENCE_MS, () => this.#connection.lost())
  }
}
