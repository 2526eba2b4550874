/** A connection under bound(); pg-client.ts and mysql2-connection.ts have what differs between databases. */
import { Budget } from '../deadline/budget.ts'
import { openBudget } from '../deadline/context.ts'
import { MeltproofError } from '../errors.ts'
import { Call, type Whereabouts } from '../outbound/call.ts'
import type { OutboundRecord } from '../record.ts'
import type { BoundPool } from './bound-pool.ts'
import { type Cancellation, type CancellationOutcome, loneCancellations } from './cancellations.ts'
import { type Recoverable, Recovery } from './recovery.ts'

export class PendingQuery {
  readonly budget: Budget | undefined
  readonly call: Call | undefined
  over = false

  constructor(budget?: Budget, call?: Call) {
    this.budget = budget
    this.call = call
  }

  end(error: unknown): boolean {
    if (this.over) return false
    this.over = true
    this.budget?.settle()
    this.call?.end(error)
    return true
  }
}

export interface Database {
  readonly name: string
  readonly kind: OutboundRecord['kind']
  readonly where: Whereabouts
}

export abstract class BoundConnection<Connection> implements Recoverable {
  protected recovery: Recovery | undefined
  /** Why it must not be used any more. */
  protected discarded: Error | undefined
  protected pool: BoundPool<Connection> | undefined
  /** Its user is done with it, and it is not ready for its pool yet. */
  protected released = false
  /** Why the last query since it was given out ended before its time. */
  protected reason: Error | undefined
  readonly #database: Database
  readonly #queryMs: number
  /** Of whom it was given to, until the first query. */
  #waited: Call | undefined
  #giveBack: ((error?: unknown) => void) | undefined
  #stopReplacing: (() => boolean) | undefined

  constructor(database: Database, queryMs: number) {
    this.#database = database
    this.#queryMs = queryMs
  }

  /** Cancels what it is running; undefined when it runs nothing that can be cancelled. */
  protected abstract cancellation(): Cancellation | undefined
  /** One round trip, with a rollback when it is released. */
  abstract probe(): Promise<unknown>
  protected abstract mayBeInTransaction(): boolean
  /** Sends what waits; true when nothing is under way then. */
  protected abstract sendWaiting(): boolean
  protected abstract close(error: Error): void

  protected beginQuery(): PendingQuery | Error {
    if (this.discarded !== undefined) return this.discardedError(this.discarded)
    const { name, kind, where } = this.#database
    const budget = openBudget(this.#queryMs, { phase: 'query', what: `a ${name} query` })
    if (!(budget instanceof Budget)) {
      this.reason = budget
      return budget
    }
    const waited = this.#waited
    this.#waited = undefined
    // What was done between the two is nobody else's time.
    waited?.sent()
    return new PendingQuery(budget, waited ?? Call.database(kind, where, 'query'))
  }

  protected endedEarly(reason: Error): void {
    this.reason = reason
    this.pool?.line.ended(reason)
  }

  protected recover(): void {
    this.recovery = new Recovery(this)
    void this.recovery.afterQuery()
  }

  cancel(over: (outcome: CancellationOutcome) => void): (() => boolean) | undefined {
    const cancellation = this.cancellation()
    return cancellation && (this.pool?.cancellations ?? loneCancellations).run(cancellation, over)
  }

  recovered(): void {
    this.recovery = undefined
    this.#stopReplacing?.()
    this.goOn()
  }

  lost(): void {
    const reason = this.reason ?? new Error('a query was not over in time')
    this.#stopReplacing?.()
    if (this.pool === undefined) this.#discard(reason)
    else this.#stopReplacing = this.pool.askToReplace(() => this.#discard(reason))
  }

  /** Sends what waits. A connection that is released goes back to its pool once nothing is under way. */
  protected goOn(): void {
    if (!this.sendWaiting() || !this.released || this.recovery !== undefined) return
    if (this.reason === undefined || !this.mayBeInTransaction()) {
      this.giveBack()
      return
    }
    // The app's own rollback may have been refused for want of time.
    this.reason = undefined
    this.recovery = new Recovery(this)
    void this.recovery.afterRoundTrip()
  }

  protected discardedError(cause: Error): MeltproofError {
    return new MeltproofError(
      'MELTPROOF_CLIENT_DISCARDED',
      `This ${this.#database.name} connection ran a query whose deadline passed, and the server did not say in time ` +
        'that the query is over. The connection is discarded, because a late cancel would hit the next query on it. ' +
        'Release it (a pool makes a new one), or connect anew.',
      { cause },
    )
  }

  #discard(reason: Error): void {
    this.discarded = reason
    this.recovery?.stop()
    this.recovery = undefined
    this.close(this.discardedError(reason))
    if (this.released) this.giveBack(reason)
  }

  /** The pool gives it out. Returns its release, which is false from the second time on. */
  checkOut(
    pool: BoundPool<Connection>,
    call: Call | undefined,
    giveBack?: (error?: unknown) => void,
  ): (error?: unknown) => boolean {
    this.pool = pool
    pool.where = this.#database.where
    this.#waited = call
    this.#giveBack = giveBack
    this.reason = undefined
    let out = true
    return error => {
      if (!out) return false
      out = false
      // It waited, and asked for nothing.
      this.#waited?.endRecord(undefined, this.#waited.sentAtMs)
      this.#waited = undefined
      this.release(error)
      return true
    }
  }

  protected release(_error?: unknown): void {
    if (this.reason === undefined || this.discarded !== undefined) {
      this.giveBack(this.discarded)
      return
    }
    this.released = true
    this.goOn()
  }

  protected giveBack(error?: unknown): void {
    const giveBack = this.#giveBack
    this.#giveBack = undefined
    this.released = false
    giveBack?.(error)
  }
}
