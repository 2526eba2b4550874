/**
 * Makes a connection usable again after a query whose deadline has passed. A cancel applies to a connection, not to a
 * query: a late one hits the statement that runs then. So nothing else is sent until
 * 1. the server has received the cancel, or it was never sent, and
 * 2. the server has reported the end of the query, cancelled or not, and
 * 3. an empty round trip has completed: a cancel that was received but not yet applied hits this round trip.
 * If one of these does not happen, the connection is lost.
 */
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import type { CancellationOutcome } from './cancellations.ts'

/** How long to wait for each answer, ms. A database checks for interrupts every few milliseconds. */
const PATIENCE_MS = 2000

export interface Recoverable {
  /** See Cancellations.run(); undefined when there is nothing to cancel. */
  cancel(over: (outcome: CancellationOutcome) => void): (() => boolean) | undefined
  recovered(): void
  /** The answer is overdue. If it still arrives, it completes the recovery, unless the cancel may still arrive. */
  lost(): void
}

/** Begins the round trip, which ends with {@link Recovery.answered}. `needed` is false when no cancel was sent. */
export type Probe = (needed: boolean) => void

export class Recovery {
  readonly #connection: Recoverable
  #probe: Probe | undefined
  #takeBack: (() => boolean) | undefined
  #outcome: CancellationOutcome | undefined
  #queryOver = false
  #probed = false
  #stopped = false
  #timer: FairTimer | undefined

  constructor(connection: Recoverable) {
    this.#connection = connection
  }

  begin(probe: Probe): void {
    this.#probe = probe
    this.#takeBack = this.#connection.cancel(outcome => {
      if (this.#stopped) return
      this.#outcome = outcome
      if (outcome !== 'unknown') {
        this.#next()
        return
      }
      this.stop()
      this.#connection.lost()
    })
    if (this.#takeBack !== undefined) return
    this.#outcome = 'unsent'
    this.#next()
  }

  /** The server has reported the end of the query. */
  queryEnded(): void {
    if (this.#takeBack?.() === true) this.#outcome = 'unsent'
    this.#queryOver = true
    this.#next()
  }

  /** The round trip has completed. */
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

  #next(): void {
    if (this.#stopped || this.#outcome === undefined || this.#probed) return
    this.#timer?.cancel()
    this.#timer = startFairTimer(PATIENCE_MS, () => this.#connection.lost())
    if (!this.#queryOver) return
    this.#probed = true
    this.#probe?.(this.#outcome === 'processed')
  }
}
