/**
 * Brings a connection back into use after a query whose deadline has passed. A cancel is tied to a connection, not to a
 * query: one that arrives late hits whatever runs next. So the connection stays occupied until
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
  /** One round trip. Settles when the server has answered or the connection is gone. */
  probe(): Promise<unknown>
  recovered(): void
  /** The answer is overdue. It may still recover until {@link Recovery.stop}. */
  lost(): void
}

export class Recovery {
  readonly #connection: Recoverable
  readonly #queryOver = Promise.withResolvers<void>()
  readonly #cancelled = Promise.withResolvers<CancellationOutcome>()
  #takeBack: (() => boolean) | undefined
  #timer: FairTimer | undefined
  #stopped = false

  constructor(connection: Recoverable) {
    this.#connection = connection
  }

  /** A query is still running. */
  async afterQuery(): Promise<void> {
    this.#takeBack = this.#connection.cancel(this.#cancelled.resolve)
    const outcome = this.#takeBack === undefined ? 'unsent' : await this.#cancelled.promise
    if (outcome === 'unknown' && !this.#stopped) {
      this.stop()
      this.#connection.lost()
    }
    await this.#inTime(this.#queryOver.promise)
    if (outcome === 'processed') await this.afterRoundTrip()
    else this.#recovered()
  }

  /** A round trip is all that is missing. */
  async afterRoundTrip(): Promise<void> {
    if (this.#stopped) return
    await this.#inTime(this.#connection.probe()).catch(() => {})
    this.#recovered()
  }

  /** The server has said that the query is over. */
  queryEnded(): void {
    if (this.#takeBack?.() === true) this.#cancelled.resolve('unsent')
    this.#queryOver.resolve()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#takeBack?.()
  }

  #recovered(): void {
    if (this.#stopped) return
    this.stop()
    this.#connection.recovered()
  }

  async #inTime(answer: Promise<unknown>): Promise<void> {
    if (this.#stopped) return
    const timer = startFairTimer(PATIENCE_MS, () => this.#connection.lost())
    this.#timer = timer
    try {
      await answer
    } finally {
      timer.cancel()
    }
  }
}
