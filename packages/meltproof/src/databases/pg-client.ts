/** One client of pg under bound(): its line of queries, and how the server is asked whether it is done with one. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { nextTick } from 'node:process'
import { Budget } from '../deadline/budget.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'
import type { RecordedCall } from '../recorded-call.ts'
import { BoundConnection } from './bound-connection.ts'
import type { CheckedOptions } from './bound-options.ts'
import type { Cancellation } from './cancellations.ts'
import { pgCancellation } from './pg-cancel.ts'
import { type Callback, isOwnQuery, type OwnQuery, type PgClient, type Query } from './pg-shapes.ts'
import { recordCall } from './record-call.ts'
import { serverTimeoutFor } from './server-timeout.ts'

interface Entry {
  readonly config: unknown
  readonly values: unknown
  readonly callback?: unknown
  /** Undefined for what runs at its reader's pace. */
  readonly budget?: Budget
  readonly done: Callback
  readonly record?: RecordedCall | undefined
  /** Given to pg; before that a round trip of ours may be under way for it. */
  submitted: boolean
  /** The caller has been told. */
  told: boolean
}

export class BoundClient extends BoundConnection<PgClient> {
  readonly #client: PgClient
  readonly #query: Query
  /** Not sent yet, and not in pg's own queue, from which nothing can be taken out again. */
  #line: Entry[] = []
  /** Until the server is done with them, whether or not somebody still waits. */
  readonly #sent = new Set<Entry>()
  /** The session's statement_timeout as far as we set it, ms. */
  #serverMs: number
  readonly #ownServerMs: number
  #setsServerTimeout: boolean

  constructor(client: PgClient, options: CheckedOptions) {
    super('PostgreSQL', options.queryMs)
    this.#client = client
    this.#query = client.query.bind(client)
    this.#ownServerMs = Math.max(0, Number(client.connectionParameters?.statement_timeout) || 0)
    this.#serverMs = this.#ownServerMs
    this.#setsServerTimeout = options.serverTimeout && client.getTransactionStatus !== undefined
  }

  // Queries -------------------------------------------------------------------------------------------------------

  query(config: unknown, values: unknown, callback: unknown): unknown {
    // pg says what is wrong.
    if (config === null || config === undefined) return this.#query(config, values, callback)
    if (isOwnQuery(config)) return this.#startOwn(config, values, callback)
    const inConfig = (config as { callback?: unknown }).callback
    const given = [values, callback, inConfig].find(value => typeof value === 'function') as Callback | undefined
    const plain = typeof values === 'function' ? undefined : values
    const bare = typeof inConfig === 'function' ? { ...(config as object), callback: undefined } : config
    return callbackOrPromise(given, done => this.#start(bare, plain, done))
  }

  #start(config: unknown, values: unknown, done: Callback): void {
    const budget = this.openBudget()
    if (!(budget instanceof Budget)) {
      nextTick(done, budget)
      return
    }
    const record = recordCall('pg', this.#client.connectionParameters ?? {}, 'query')
    const entry: Entry = { config, values, budget, done, record, submitted: false, told: false }
    this.#line.push(entry)
    budget.onEnd(reason => {
      this.endedEarly(reason)
      this.#tell(entry, reason)
      if (this.#sent.has(entry)) this.#recoverIfAllLate()
      else this.#line = this.#line.filter(other => other !== entry)
    })
    this.sendWaiting()
  }

  /** No deadline, but a place in the line: a late cancel must not hit it either. */
  #startOwn(config: OwnQuery, values: unknown, callback: unknown): unknown {
    const done: Callback = error => {
      if (error) config.handleError?.(error, this.#client.connection)
    }
    if (this.discarded !== undefined) nextTick(done, this.discardedError(this.discarded))
    else {
      this.#line.push({ config, values, callback, done, submitted: false, told: false })
      this.sendWaiting()
    }
    return config
  }

  protected sendWaiting(): boolean {
    while (this.#line.length > 0 && this.recovery === undefined && this.discarded === undefined) {
      if (this.#sent.size > 0 && (this.#client.pipeline !== true || this.#anyLate())) break
      const entry = this.#line.shift()!
      this.#sent.add(entry)
      entry.record?.sent('turn')
      this.#send(entry).then(
        result => this.#ended(entry, undefined, result),
        error => {
          // The server's clock may come first when our loop is stalled. It is the same deadline.
          if (this.#serverMs !== this.#ownServerMs && isStatementTimeout(error)) {
            this.#sent.delete(entry)
            entry.budget?.expire(error)
          }
          this.#ended(entry, error)
        },
      )
    }
    return this.#sent.size === 0
  }

  async #send(entry: Entry): Promise<unknown> {
    const { config, values, callback, budget } = entry
    const wantedMs = budget && serverTimeoutFor(budget.remainingMs(), this.#ownServerMs)
    if (
      this.#setsServerTimeout &&
      this.#client.pipeline !== true &&
      this.#serverMs !== (wantedMs ?? this.#ownServerMs)
    ) {
      await this.#tellServer(wantedMs, budget?.remainingMs() ?? Number.POSITIVE_INFINITY)
    }
    if (entry.told) throw budget?.reason
    entry.submitted = true
    if (budget !== undefined) return this.#query(config, values)
    const over = endOf(config as OwnQuery)
    this.#query(config, values, callback)
    return over
  }

  /** The server is done with it. */
  #ended(entry: Entry, error: Error | undefined, result?: unknown): void {
    this.#sent.delete(entry)
    this.#tell(entry, error, result)
    if (this.discarded !== undefined) return
    if (this.recovery === undefined) this.#recoverIfAllLate()
    else if (this.#sent.size === 0) this.recovery.queryEnded()
    this.goOn()
  }

  /** In a tick of its own, so that what a callback throws is the app's exception and not a rejection of ours. */
  #tell(entry: Entry, error: Error | undefined, result?: unknown): void {
    if (entry.told) return
    entry.told = true
    entry.budget?.settle()
    entry.record?.end(error)
    nextTick(entry.done, error, result)
  }

  // What is late --------------------------------------------------------------------------------------------------

  #anyLate(): boolean {
    for (const entry of this.#sent) if (entry.told) return true
    return false
  }

  /** Only when all of a pipeline are late: a cancel hits whichever is running. */
  #recoverIfAllLate(): void {
    if (this.recovery !== undefined || this.discarded !== undefined || this.#sent.size === 0) return
    for (const entry of this.#sent) if (!entry.told) return
    this.recover(true)
  }

  protected cancellation(): Cancellation | undefined {
    // A round trip of ours ends by itself.
    for (const entry of this.#sent) if (entry.submitted) return pgCancellation(this.#client)
    return undefined
  }

  protected async probe(): Promise<unknown> {
    return this.#query(this.released && this.mayBeInTransaction() ? 'ROLLBACK' : '')
  }

  protected mayBeInTransaction(): boolean {
    return this.#client.getTransactionStatus?.() !== 'I'
  }

  protected close(error: Error): void {
    for (const entry of [...this.#sent, ...this.#line]) this.#tell(entry, error)
    this.#line = []
    // One of a pool is ended by its release; ended here, the pool would not know.
    if (this.pool === undefined) Promise.resolve(this.#client.end()).catch(() => {})
  }

  // Of a pool -----------------------------------------------------------------------------------------------------

  protected override release(error?: unknown): void {
    // pg's pool and many apps release with the query's error: a passed deadline is no fault of the connection.
    const fault = error && error !== this.reason && !(error instanceof DeadlineExceededError)
    if (fault && this.discarded === undefined) {
      this.giveBack(error)
      return
    }
    // The pool listens again once it has it.
    this.#client.on('error', ignore)
    super.release()
  }

  protected override giveBack(error?: unknown): void {
    super.giveBack(error)
    this.pool?.line.free()
    this.#client.removeListener('error', ignore)
  }

  // The server's own timeout --------------------------------------------------------------------------------------

  /** @param wantedMs undefined for what the session had before we set anything */
  async #tellServer(wantedMs: number | undefined, leftMs: number): Promise<void> {
    const client = this.#client
    // pg calls back as soon as it is connected, and notes the state of the session right after.
    if (client.getTransactionStatus?.() === null) await undefined
    const status = client.getTransactionStatus?.()
    const value = wantedMs ?? 'DEFAULT'
    try {
      if (status === 'I') {
        await this.#query(`SET statement_timeout = ${value}`)
        this.#serverMs = wantedMs ?? this.#ownServerMs
      } else if (status === 'T' && this.#serverMs !== 0 && this.#serverMs < Math.min(leftMs, wantedMs ?? leftMs)) {
        // For this transaction alone: a session's value set in here would be gone after a rollback.
        await this.#query(`SET LOCAL statement_timeout = ${value}`)
      }
    } catch (error) {
      // A server or a proxy that does not know it: our own deadline has to do.
      if (!isCancelled(error)) this.#setsServerTimeout = false
    }
  }
}

/** As all of pg: with a callback it calls back, in the caller's context; without one it gives a promise. */
export function callbackOrPromise(callback: Callback | undefined, start: (done: Callback) => void): unknown {
  if (callback !== undefined) return start(AsyncLocalStorage.bind(callback))
  return new Promise((resolve, reject) => {
    start((error, result) => (error ? reject(error) : resolve(result)))
  })
}

const ignore = (): void => {}

function isCancelled(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014'
}

/** Only its words tell whether time was up or somebody cancelled: both have the code `query_canceled`. */
function isStatementTimeout(error: unknown): error is Error {
  return isCancelled(error) && /statement timeout/.test(String(error))
}

/** When pg is done with a query of its own kind; at once where we cannot see that. */
function endOf(query: OwnQuery): Promise<void> {
  return new Promise(resolve => {
    for (const name of ['handleReadyForQuery', 'handleError'] as const) {
      const original = query[name]
      if (typeof original !== 'function') return resolve()
      query[name] = (...args) => {
        resolve()
        return original.apply(query, args)
      }
    }
  })
}
