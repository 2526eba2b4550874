/**
 * A connection to PostgreSQL or MySQL under bound(). For both one rule holds (docs/databases.md): a deadline ends
 * work, never cleanup. pg-client.ts and mysql2-connection.ts contain the differences between the drivers.
 */
import { Budget } from '../deadline/budget.ts'
import { currentBudget, openBudget } from '../deadline/context.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import { MeltproofError } from '../errors.ts'
import { Call, type DatabaseAddress } from '../outbound/call.ts'
import type { OutboundRecord } from '../record.ts'
import { warn } from '../warnings.ts'
import type { BoundPool, Loan } from './bound-pool.ts'
import { type Cancellation, type CancellationOutcome, loneCancellations } from './cancellations.ts'
import { Graces } from './graces.ts'
import { GRACE_MS } from './limits.ts'
import { type Recoverable, Recovery } from './recovery.ts'
import { type Handle, Statement } from './statement.ts'
import { cleansUp, mayChangeSession, mustFinish, nameOf, rollsBack, tidiesSession } from './statement-text.ts'

export interface Database {
  readonly name: string
  readonly kind: OutboundRecord['kind']
  readonly where: DatabaseAddress
}

const warnedTexts = new Set<string>()
/** Warns about a connection without a pool. An ORM may have many of them, so each text is printed once. */
function warnOfLone(text: string): void {
  if (warnedTexts.has(text)) return
  warnedTexts.add(text)
  warn(text)
}

export abstract class BoundConnection<Connection> implements Recoverable {
  readonly #database: Database
  readonly #queryMs: number
  #pool: BoundPool<Connection> | undefined
  #loan: Loan<Connection> | undefined
  /** The call that waited for the connection, until the first query takes it over. */
  #waited: Call | undefined
  #released = false
  /** True if the app may have released the connection within a transaction. */
  #inDoubt = false
  /** Statements that the server has not finished. */
  readonly #open = new Set<Statement>()
  readonly #graces = new Graces()
  #recovery: Recovery | undefined
  #late: Statement | undefined
  /** The last error that a caller got instead of an answer. */
  #reason: Error | undefined
  /** Why the transaction must not be committed. */
  #broken: Error | undefined
  #brokenTimer: FairTimer | undefined
  #untidy = false
  /** Why the connection is closed when it returns to the pool. */
  #unfit: Error | undefined
  /** Once meltproof has closed the connection: the error of everything that waits or is sent on it. */
  protected discarded: MeltproofError | undefined
  #stopReplacing: (() => boolean) | undefined

  constructor(database: Database, queryMs: number) {
    this.#database = database
    this.#queryMs = queryMs
  }

  /** Cancels the running statement; undefined when that is impossible. */
  protected abstract cancellation(): Cancellation | undefined
  /** True if a transaction is open, as the server reported last. */
  protected abstract inTransaction(): boolean
  /** Calls `done` when {@link inTransaction} is up to date. */
  protected abstract askTransaction(done: () => void): void
  protected abstract close(): void

  /** Returns an error if the statement must not be sent. Called when the app sends it, and when its turn comes. */
  protected refusal(text: string): Error | undefined {
    if (this.discarded !== undefined) return this.discarded
    if (this.#broken === undefined || rollsBack(text) || tidiesSession(text)) return undefined
    // The statement may be cleanup that meltproof does not recognise.
    if (mayChangeSession(text) && !cleansUp(text)) this.#untidy = true
    return new MeltproofError(
      'MELTPROOF_TRANSACTION_BROKEN',
      `${nameOf(text)} was refused: another statement of this ${this.#database.name} transaction was not sent, or was ` +
        'cancelled, because its deadline had passed or its client had left. The transaction cannot be committed: send ROLLBACK.',
      { cause: this.#broken },
    )
  }

  /** Returns an error when no time is left for the statement. */
  protected open(text: string): Statement | Error {
    const { name, kind, where } = this.#database
    const within = currentBudget()
    const inTime = openBudget(this.#queryMs, { phase: 'query', what: `a ${name} query` })
    const hasGrace = !(inTime instanceof Budget)
    const budget = hasGrace ? this.#openLate(text, within, inTime) : inTime
    if (!(budget instanceof Budget)) return budget
    const waited = this.#waited
    this.#waited = undefined
    // The call began when the app asked for the connection, and includes the time until the app sent this query.
    waited?.sent()
    return new Statement(text, within, budget, hasGrace, waited ?? Call.database(kind, where, 'query'))
  }

  #openLate(text: string, ended: Budget | undefined, reason: Error): Budget | Error {
    this.#tooLate(reason)
    // A single query of the pool leaves nothing to clean up.
    return this.#loan?.single === true ? reason : this.#openGrace(text, ended, reason)
  }

  #openGrace(text: string, ended: Budget | undefined, reason: Error): Budget | Error {
    const what = `${nameOf(text)} after its deadline (it may have taken effect)`
    return this.#graces.open(ended, { phase: 'query', what }, reason)
  }

  #tooLate(reason: Error): void {
    this.#reason = reason
    this.#pool?.queue.ended(reason)
  }

  /** The driver has accepted the statement. */
  protected watch(statement: Statement, handle: Handle): void {
    statement.handle = handle
    this.#open.add(statement)
    statement.budget.onEnd(reason => this.#budgetEnded(statement, reason))
  }

  #budgetEnded(statement: Statement, reason: Error): void {
    if (statement.over) return
    if (statement.hasGrace) this.#overran(statement, reason)
    else if (mustFinish(statement.text)) this.#letFinish(statement, reason)
    else {
      this.#tooLate(reason)
      this.#spoil(reason)
      statement.fail(reason)
      if (statement.handle?.isRunning() !== true) statement.handle?.drop(reason)
      else {
        this.#late = statement
        const recovery = new Recovery(this)
        this.#recovery = recovery
        recovery.begin(statement.handle.blockQueue(recovery))
      }
    }
  }

  /** Gives the statement a grace period: a cancelled COMMIT may have taken effect, and cleanup must be complete. */
  #letFinish(statement: Statement, reason: Error): void {
    const ended = statement.within?.remainingMs() === 0 ? statement.within : undefined
    const grace = this.#openGrace(statement.text, ended, reason)
    statement.hasGrace = true
    if (!(grace instanceof Budget)) {
      this.#overran(statement, reason)
      return
    }
    statement.budget = grace
    grace.onEnd(overrun => this.#budgetEnded(statement, overrun))
  }

  #overran(statement: Statement, reason: Error): void {
    this.#tooLate(reason)
    statement.fail(reason)
    if (this.#recovery !== undefined) {
      // The server still runs the overdue query, and would continue if this connection were closed.
      this.#spoil(reason)
      statement.handle?.drop(reason)
      return
    }
    this.#giveUp(`a cleanup statement (${nameOf(statement.text)}) took longer than its ${GRACE_MS} ms`, reason)
  }

  /** A statement did not run, or its effect is unknown: if the app holds the connection, its pool must not reuse it. */
  #spoil(reason: Error): void {
    if (this.#loan?.single === false) this.#unfit ??= reason
  }

  /** Called when a statement's turn comes but its time has run out, so it is not sent. */
  protected passedOver(text: string, reason: Error): void {
    this.#spoil(reason)
    if (this.inTransaction()) this.#break(reason)
    else if (cleansUp(text)) this.#leftOver('a cleanup statement was sent after the time allowed for cleanup', reason)
  }

  /** The server has finished the statement. */
  protected over(statement: Statement, error?: unknown): void {
    if (statement.over) return
    statement.over = true
    statement.failed = Boolean(error)
    this.#open.delete(statement)
    statement.budget.settle()
    statement.call?.end(error)
    // PostgreSQL rejects cleanup in a broken transaction until the ROLLBACK, and the app does not send it again.
    if (this.#broken !== undefined && statement.failed && tidiesSession(statement.text)) this.#untidy = true
    // A ROLLBACK that was dropped from the queue ends here too, but was not sent.
    if (this.#broken !== undefined && rollsBack(statement.text) && !statement.hasFailedForCaller) {
      if (!statement.failed) this.#mend()
      else if (this.#pool === undefined) this.#expectRollback()
    }
    statement.onOver?.()
    if (this.#released) this.#returnToPool()
  }

  #break(reason: Error): void {
    if (this.#broken !== undefined) return
    this.#broken = reason
    if (this.#pool === undefined) this.#expectRollback()
    else this.#unfit ??= reason
  }

  #mend(): void {
    const reason = this.#broken!
    this.#broken = undefined
    this.#brokenTimer?.cancel()
    if (this.#untidy)
      this.#leftOver('its session was changed, or not cleaned up, in a transaction with a cancelled statement', reason)
    this.#untidy = false
  }

  /** Without a pool, a timer waits for the ROLLBACK. A pooled connection is closed when it returns to the pool. */
  #expectRollback(): void {
    this.#brokenTimer?.cancel()
    this.#brokenTimer = startFairTimer(GRACE_MS, () => {
      for (const { text } of this.#open) if (rollsBack(text)) return
      this.#giveUp(`its broken transaction was not rolled back within ${GRACE_MS} ms`, this.#broken)
    })
  }

  /** The session may have changed in an unknown way, so the connection must not be reused after its transaction. */
  #leftOver(why: string, reason: Error): void {
    if (this.#broken !== undefined) this.#untidy = true
    else if (this.#pool === undefined) this.#giveUp(why, reason)
    else this.#unfit ??= reason
  }

  #giveUp(why: string, reason: Error | undefined): void {
    const say = this.#pool?.warn ?? warnOfLone
    say(`A ${this.#database.name} connection was closed, because ${why}. Later ones are closed without a warning.`)
    this.#discard(why, reason)
  }

  cancel(over: (outcome: CancellationOutcome) => void): (() => boolean) | undefined {
    const cancellation = this.cancellation()
    return cancellation && (this.#pool?.cancellations ?? loneCancellations).run(cancellation, over)
  }

  /** Waiting statements are sent once this returns. */
  recovered(): void {
    const { text, failed } = this.#late!
    const reason = this.#reason!
    this.#recovery = undefined
    this.#stopReplacing?.()
    if (this.inTransaction()) this.#break(reason)
    if (mayChangeSession(text, failed))
      this.#leftOver('a query that had already failed for its caller changed the session', reason)
    if (this.#released) this.#returnToPool()
  }

  lost(): void {
    const discard = (): void =>
      this.#discard('the server did not confirm in time that an overdue query has ended', this.#reason)
    this.#stopReplacing?.()
    if (this.#pool === undefined) discard()
    else this.#stopReplacing = this.#pool.askToReplace(discard)
  }

  #discard(why: string, cause: Error | undefined): void {
    if (this.discarded !== undefined) return
    const error = new MeltproofError(
      'MELTPROOF_CLIENT_DISCARDED',
      `This ${this.#database.name} connection was closed, because ${why}. Release it (the pool opens a new one), or connect again.`,
      { cause },
    )
    this.discarded = error
    this.#recovery?.stop()
    this.#recovery = undefined
    this.#brokenTimer?.cancel()
    this.#stopReplacing?.()
    const open = [...this.#open]
    this.#open.clear()
    this.close()
    for (const statement of open) statement.fail(error)
    if (this.#released) this.#returnToPool()
  }

  /** A pool lends the connection. The returned function releases it, and returns false when called again. */
  checkOut(pool: BoundPool<Connection>, loan: Loan<Connection>): (error?: unknown) => boolean {
    this.#pool = pool
    pool.where = this.#database.where
    this.#loan = loan
    this.#waited = loan.call
    this.#reason = undefined
    this.#unfit = undefined
    return error => {
      if (this.#loan !== loan || this.#released) return false
      // The caller waited for the connection but sent no query.
      this.#waited?.endRecord(undefined, this.#waited.sentAtMs)
      this.#waited = undefined
      this.#release(error)
      return true
    }
  }

  #release(error: unknown): void {
    this.#released = true
    const late = error === this.#reason || error instanceof DeadlineExceededError
    if (error && !late && this.discarded === undefined) this.#giveBack(error)
    else {
      if (error) this.#spoil(error as Error)
      // If the deadline has passed, its exception may have kept the app from ending a transaction.
      const ended = [this.#loan?.within, currentBudget()].find(budget => budget?.remainingMs() === 0)
      this.#inDoubt = this.#loan?.single === false && ended !== undefined
      this.#returnToPool()
    }
  }

  /** Waits until the server has finished all statements. */
  #returnToPool(): void {
    if (this.#recovery !== undefined || this.#open.size > 0) return
    const unfit = this.discarded ?? this.#unfit
    if (unfit !== undefined || !this.#inDoubt) {
      this.#giveBack(unfit)
      return
    }
    this.#inDoubt = false
    this.askTransaction(() =>
      this.#giveBack(this.inTransaction() ? new Error('a transaction was left open') : undefined),
    )
  }

  #giveBack(error: unknown): void {
    const loan = this.#loan
    this.#loan = undefined
    this.#released = false
    this.#recovery?.stop()
    this.#recovery = undefined
    loan?.giveBack?.(error)
  }
}
