/** One client of pg under bound(): its line of queries, what is late on it, and when it goes back to its pool. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Budget } from '../deadline/budget.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'
import type { CheckedDatabaseOptions } from './bound-options.ts'
import { openCallBudget } from './call-budget.ts'
import { type Cancellations, loneCancellations } from './cancellations.ts'
import type { ConnectionLine } from './connection-line.ts'
import { discardedError } from './discarded.ts'
import { type NotedCall, noteCall } from './note-call.ts'
import { pgCancellation } from './pg-cancel.ts'
import { type Callback, isOwnQuery, type OwnQuery, type PgClient, type Query, type Release } from './pg-shapes.ts'
import { Recovery } from './recovery.ts'
import type { Replacements } from './replacements.ts'
import { serverTimeoutFor } from './server-timeout.ts'

/** The pool that gives clients out, as far as they need it. */
export interface Lender {
  readonly line: ConnectionLine<PgClient>
  readonly replacements: Replacements
  readonly cancellations: Cancellations
}

interface Entry {
  readonly config: unknown
  readonly values: unknown
  readonly callback: unknown
  /** Undefined for what runs at its reader's pace. */
  readonly budget: Budget | undefined
  readonly done: Callback
  readonly noted: NotedCall | undefined
  /** It is pg's now; before that a round trip of ours may be under way for it. */
  submitted: boolean
  /** The caller has been told. */
  told: boolean
}

export class BoundClient {
  readonly #client: PgClient
  readonly #options: CheckedDatabaseOptions
  readonly #query: Query
  /** Ours rather than pg's: what has not been sent can be taken out again without touching anybody's query. */
  #line: Entry[] = []
  /** Until the server has said that they are over, whether or not somebody still waits for them. */
  readonly #sent = new Set<Entry>()
  #recovery: Recovery | undefined
  /** Why it must not be used any more. */
  #discarded: Error | undefined
  /** The session's statement_timeout as far as we set it, ms. */
  #serverMs: number
  readonly #ownServerMs: number
  #setsServerTimeout: boolean

  // Of a client that a pool has given out.
  #lender: Lender | undefined
  #giveBack: Release | undefined
  #released = false
  /** Why the last query since it was given out ended before its time. */
  #reason: Error | undefined
  #stopReplacing: (() => void) | undefined

  constructor(client: PgClient, options: CheckedDatabaseOptions) {
    this.#client = client
    this.#options = options
    this.#query = client.query.bind(client)
    this.#ownServerMs = Math.max(0, Number(client.connectionParameters?.statement_timeout) || 0)
    this.#serverMs = this.#ownServerMs
    this.#setsServerTimeout = options.serverTimeout && client.getTransactionStatus !== undefined
  }

  // Queries -------------------------------------------------------------------------------------------------------

  query(config: unknown, values: unknown, callback: unknown): unknown {
    // pg says what is wrong with it.
    if (config === null || config === undefined) return this.#query(config, values, callback)
    if (isOwnQuery(config)) return this.#startOwn(config, values, callback)
    const inConfig = (config as { callback?: unknown }).callback
    const given = [values, callback, inConfig].find(value => typeof value === 'function') as Callback | undefined
    const plain = typeof values === 'function' ? undefined : values
    const bare = typeof inConfig === 'function' ? { ...(config as object), callback: undefined } : config
    if (given !== undefined) {
      // In a tick of its own, so that what it throws is the app's exception and not a rejection of ours.
      const inContext = AsyncLocalStorage.bind(given)
      this.#start(bare, plain, (error, result) => process.nextTick(inContext, error, result))
      return undefined
    }
    return new Promise((resolve, reject) => {
      this.#start(bare, plain, (error, result) => (error ? reject(error) : resolve(result)))
    })
  }

  #start(config: unknown, values: unknown, done: Callback): void {
    let budget: Budget
    try {
      if (this.#discarded !== undefined) throw discardedError('PostgreSQL', this.#discarded)
      budget = openCallBudget(this.#options.queryMs, 'query', 'a PostgreSQL query')
    } catch (error) {
      if (this.#discarded === undefined) this.#reason = error as Error
      process.nextTick(done, error)
      return
    }
    const noted = noteCall('pg', this.#client.connectionParameters ?? {}, 'query')
    const entry: Entry = { config, values, callback: undefined, budget, done, noted, submitted: false, told: false }
    this.#line.push(entry)
    budget.onEnd(reason => {
      this.#reason = reason
      this.#lender?.line.ended(reason)
      this.#tell(entry, reason)
      if (this.#sent.has(entry)) this.#recoverIfAllLate()
      else this.#line = this.#line.filter(other => other !== entry)
    })
    this.#sendNext()
  }

  /** No deadline, but a place in the line: a late cancel must not hit it either. */
  #startOwn(config: OwnQuery, values: unknown, callback: unknown): unknown {
    const done: Callback = error => {
      if (error) process.nextTick(() => config.handleError?.(error, this.#client.connection))
    }
    if (this.#discarded !== undefined) done(discardedError('PostgreSQL', this.#discarded))
    else {
      this.#line.push({
        config,
        values,
        callback,
        budget: undefined,
        done,
        noted: undefined,
        submitted: false,
        told: false,
      })
      this.#sendNext()
    }
    return config
  }

  #sendNext(): void {
    while (this.#line.length > 0 && this.#recovery === undefined && this.#discarded === undefined) {
      if (this.#sent.size > 0 && (this.#client.pipeline !== true || this.#anyLate())) return
      const entry = this.#line.shift()!
      this.#sent.add(entry)
      entry.noted?.sent()
      this.#send(entry).then(
        result => {
          this.#sent.delete(entry)
          this.#tell(entry, undefined, result)
          this.#afterOne()
        },
        error => {
          this.#sent.delete(entry)
          // While our own loop is stalled the server's clock may come first. It is the same deadline.
          if (this.#serverMs !== this.#ownServerMs && isStatementTimeout(error)) entry.budget?.expire(error)
          this.#tell(entry, error)
          this.#afterOne()
        },
      )
    }
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

  #tell(entry: Entry, error: Error | undefined, result?: unknown): void {
    if (entry.told) return
    entry.told = true
    entry.budget?.settle()
    entry.noted?.end(error)
    entry.done(error, result)
  }

  #afterOne(): void {
    if (this.#discarded !== undefined) return
    if (this.#recovery === undefined) this.#recoverIfAllLate()
    else if (this.#sent.size === 0) this.#recovery.queryEnded()
    this.#goOn()
  }

  #goOn(): void {
    this.#sendNext()
    if (this.#released && this.#sent.size === 0 && this.#recovery === undefined) this.#handBack()
  }

  // What is late --------------------------------------------------------------------------------------------------

  #anyLate(): boolean {
    for (const entry of this.#sent) if (entry.told) return true
    return false
  }

  /** Only all: a cancel hits whichever of a pipeline is running. */
  #recoverIfAllLate(): void {
    if (this.#recovery !== undefined || this.#discarded !== undefined || this.#sent.size === 0) return
    for (const entry of this.#sent) if (!entry.told) return
    this.#recover(true)
  }

  #recover(running: boolean): void {
    this.#recovery = new Recovery(
      {
        cancel: over => {
          // A round trip of ours that is still under way for it ends by itself.
          const submitted = [...this.#sent].some(entry => entry.submitted)
          const cancellation = submitted ? pgCancellation(this.#client) : undefined
          return cancellation && (this.#lender?.cancellations ?? loneCancellations).run(cancellation, over)
        },
        probe: async () => this.#query(this.#released && this.#mayBeInTransaction() ? 'ROLLBACK' : ''),
        recovered: () => {
          this.#recovery = undefined
          this.#stopReplacing?.()
          this.#goOn()
        },
        lost: () => {
          const reason = this.#reason ?? new Error('a query was not over in time')
          if (this.#released) this.#replace(reason)
          else this.#discard(reason)
        },
      },
      running,
    )
    this.#recovery.start()
  }

  #mayBeInTransaction(): boolean {
    return this.#client.getTransactionStatus?.() !== 'I'
  }

  /** Never uses it again. */
  #discard(reason: Error): void {
    this.#discarded = reason
    this.#recovery?.stop()
    this.#recovery = undefined
    for (const entry of [...this.#sent, ...this.#line]) this.#tell(entry, discardedError('PostgreSQL', reason))
    this.#line = []
    // One of a pool is ended by its release; ended here, the pool would not know.
    if (this.#lender === undefined) Promise.resolve(this.#client.end()).catch(() => {})
  }

  // Of a pool -----------------------------------------------------------------------------------------------------

  /** @param giveBack the pool's own. Returns the release for whoever gets it. */
  checkOut(lender: Lender, giveBack: Release | undefined): Release {
    this.#lender = lender
    this.#giveBack = giveBack
    this.#reason = undefined
    let released = false
    return error => {
      if (released) throw new Error('Release called on client which has already been released to the pool.')
      released = true
      this.#release(error)
    }
  }

  /** Whoever had it is done with it. The pool gets it when the server is, too. */
  #release(error: unknown): void {
    // pg's pool, and many a `catch`, hand on what the query said: a passed deadline is no fault of the connection.
    const noFault = error === this.#reason || error instanceof DeadlineExceededError
    if (error && !noFault && this.#discarded === undefined) {
      this.#giveBackNow(error)
      return
    }
    if (this.#reason === undefined && this.#discarded === undefined) {
      this.#giveBackNow()
      return
    }
    this.#released = true
    // The pool listens again once it has it.
    this.#client.on('error', ignore)
    if (this.#discarded !== undefined) this.#replace(this.#discarded)
    else this.#goOn()
  }

  #handBack(): void {
    if (this.#reason !== undefined && this.#mayBeInTransaction()) {
      // The app's own rollback may have been refused for want of time.
      this.#reason = undefined
      this.#recover(false)
    } else this.#giveBackNow()
  }

  #giveBackNow(error?: unknown): void {
    const giveBack = this.#giveBack
    if (giveBack === undefined) return
    this.#giveBack = undefined
    giveBack(error)
    this.#lender?.line.free()
    if (this.#released) this.#client.removeListener('error', ignore)
    this.#released = false
  }

  #replace(reason: Error): void {
    this.#stopReplacing = this.#lender?.replacements.ask(() => {
      if (this.#discarded === undefined) this.#discard(reason)
      this.#giveBackNow(reason)
    })
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

const ignore = (): void => {}

function isCancelled(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014'
}

/** PostgreSQL's `query_canceled` says by its words alone whether somebody cancelled or time was up. */
function isStatementTimeout(error: unknown): error is Error {
  return isCancelled(error) && /statement timeout/.test(String(error))
}

/** When pg is done with a query that takes its answer apart by itself; at once where that can not be told. */
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
