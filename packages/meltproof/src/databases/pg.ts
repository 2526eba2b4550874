/**
 * meltproof/pg: bound() for clients and pools of pg (node-postgres 8, the JavaScript one). A query whose deadline has
 * passed rejects on time, is cancelled at the server, and its connection is discarded.
 *
 * Patches the instance it is given, so that whoever holds it already (an ORM, say) is bounded too.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Budget } from '../deadline/budget.ts'
import { show } from '../options.ts'
import { type BoundDatabaseOptions, type CheckedDatabaseOptions, checkDatabaseOptions } from './bound-options.ts'
import { openCallBudget } from './call-budget.ts'
import { runCancellation } from './cancellations.ts'
import { discardedError, notRecognised } from './discarded.ts'
import { type CancelTarget, pgCancellation } from './pg-cancel.ts'
import { type NotedCall, noteCall, type Whereabouts } from './note-call.ts'
import { serverTimeoutFor } from './server-timeout.ts'

export interface BoundPgOptions extends BoundDatabaseOptions {
  /**
   * Have the server know the deadline as well, as `statement_timeout` of the session: the next power of two above
   * what is left, set anew (one round trip) only when that changes, never above one that the client was configured
   * with. Set false behind a proxy that shares sessions between clients (pgbouncer in transaction mode), and when
   * the app sets `statement_timeout` itself.
   * @default true
   */
  readonly serverTimeout?: boolean
}

const KNOWN = ['queryMs', 'acquireMs', 'serverTimeout'] as const satisfies (keyof BoundPgOptions)[]

/**
 * Bounds a Pool or a Client of pg, in place, and returns it. Every `query()` and every wait for a connection gets a
 * deadline: `queryMs`, `acquireMs`, or what is left of the budget it runs in, whichever is less. When it passes, the
 * caller gets a DeadlineExceededError at once, the server a cancel request, and the connection is not used again.
 * The same when the budget ends early because the client has left.
 *
 * Cursors and streams (pg-cursor, pg-query-stream) run at the reader's pace and are left alone.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID` for anything else, and for options that are unknown or out of range.
 */
export function bound<T extends object>(client: T, options: BoundPgOptions = {}): T {
  const checked = checkDatabaseOptions('bound(client, options)', options, KNOWN)
  if (isPool(client)) boundPool(client, checked)
  else if (isClient(client)) {
    boundClient(client, checked)
    boundConnect(client, checked)
  } else throw notRecognised('pg', 'a Pool or Client of the package pg (version 8, not pg-native)', show(client))
  return client
}

// What is used of pg, by shape: it is an optional peer, and several copies of it may be installed.

type Callback = (error: Error | undefined | null, result?: unknown, release?: Release) => void
type Release = (error?: unknown) => void
type Query = (config: unknown, values?: unknown, callback?: unknown) => unknown

interface PgClient extends CancelTarget {
  query: Query
  connect: (callback?: Callback) => unknown
  end: (callback?: () => void) => unknown
  release?: Release
  readonly pipeline?: boolean
  readonly connectionParameters?: Whereabouts & { readonly statement_timeout?: unknown }
  readonly connection?: { readonly stream?: { destroy(): void } }
  getTransactionStatus?: () => string | null
}

interface PgPool {
  connect: (callback?: Callback) => unknown
  readonly options: { connectionTimeoutMillis?: number }
  readonly totalCount: number
}

function isPool(value: object): value is PgPool {
  const { connect, options, totalCount } = value as Partial<PgPool>
  return typeof connect === 'function' && typeof options === 'object' && typeof totalCount === 'number'
}

function isClient(value: object): value is PgClient {
  const { query, connect, connection } = value as Partial<PgClient>
  return (
    typeof query === 'function' &&
    typeof connect === 'function' &&
    typeof connection === 'object' &&
    'processID' in value
  )
}

const BOUND = Symbol.for('meltproof.bound')

// Pool ------------------------------------------------------------------------------------------------------------

/** pg's own connection timeout, where none is set, is this many times ours: it only clears away what we gave up. */
const BACKSTOP = 2

function boundPool(pool: PgPool, options: CheckedDatabaseOptions): void {
  if (BOUND in pool) return
  Object.defineProperty(pool, BOUND, { value: true })
  pool.options.connectionTimeoutMillis ||= BACKSTOP * options.acquireMs
  const original = pool.connect.bind(pool)
  const acquire = (callback: Callback): void => {
    let budget: Budget
    try {
      budget = openCallBudget(options.acquireMs, 'acquire', 'a PostgreSQL connection')
    } catch (error) {
      process.nextTick(callback, error)
      return
    }
    let over = false
    budget.onEnd(reason => {
      over = true
      callback(reason, undefined, () => {})
    })
    original((error, client, release) => {
      // It came too late: the next one in line may have it.
      if (over) {
        if (client !== undefined && !error) release?.()
        return
      }
      over = true
      budget.settle()
      if (error || client === undefined) {
        callback(error, client, release)
        return
      }
      const given = client as PgClient
      const state = boundClient(given, options)
      state.pooled = true
      const giveBack = given.release ?? release
      given.release = releaseError => giveBack?.(releaseError ?? state.discarded)
      callback(undefined, given, given.release)
    })
  }
  pool.connect = callback => {
    // The pool calls back from whoever released a connection: without this the query would run in their budget.
    if (callback !== undefined) return acquire(AsyncLocalStorage.bind(callback))
    return new Promise((resolve, reject) => {
      acquire((error, client) => (error ? reject(error) : resolve(client)))
    })
  }
}

// Client ----------------------------------------------------------------------------------------------------------

interface Entry {
  readonly config: unknown
  readonly values: unknown
  readonly budget: Budget
  readonly done: Callback
  readonly noted: NotedCall | undefined
  over: boolean
}

class ClientState {
  pooled = false
  /** Why it must not be used any more. */
  discarded: Error | undefined
  readonly #client: PgClient
  readonly #options: CheckedDatabaseOptions
  readonly #query: Query
  /** Ours rather than pg's: what has not been sent can be taken out again without touching anybody's query. */
  #line: Entry[] = []
  readonly #sent = new Set<Entry>()
  /** The session's statement_timeout as far as we set it, ms; 0 for none. */
  #serverMs: number
  readonly #ownServerMs: number
  #setsServerTimeout: boolean

  constructor(client: PgClient, options: CheckedDatabaseOptions) {
    this.#client = client
    this.#options = options
    this.#query = client.query.bind(client)
    this.#ownServerMs = Math.max(0, Number(client.connectionParameters?.statement_timeout) || 0)
    this.#serverMs = this.#ownServerMs
    this.#setsServerTimeout = options.serverTimeout && client.getTransactionStatus !== undefined
  }

  query(config: unknown, values: unknown, callback: unknown): unknown {
    const custom = typeof (config as { submit?: unknown } | null)?.submit === 'function'
    if (config === null || config === undefined || custom) return this.#query(config, values, callback)
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
      if (this.discarded !== undefined) throw discardedError('PostgreSQL', this.discarded)
      budget = openCallBudget(this.#options.queryMs, 'query', 'a PostgreSQL query')
    } catch (error) {
      process.nextTick(done, error)
      return
    }
    const noted = noteCall('pg', this.#client.connectionParameters ?? {}, 'query')
    const entry: Entry = { config, values, budget, done, noted, over: false }
    this.#line.push(entry)
    budget.onEnd(reason => {
      if (this.#sent.has(entry)) this.#discard(entry, reason)
      else {
        this.#line = this.#line.filter(other => other !== entry)
        this.#finish(entry, reason)
      }
    })
    this.#sendNext()
  }

  #sendNext(): void {
    while (this.#line.length > 0 && (this.#sent.size === 0 || this.#client.pipeline === true)) {
      const entry = this.#line.shift()!
      this.#sent.add(entry)
      entry.noted?.sent()
      this.#send(entry).then(
        result => this.#finish(entry, undefined, result),
        error => {
          // While our own loop is stalled the server's clock may come first. It is the same deadline.
          if (this.#serverMs !== this.#ownServerMs && isStatementTimeout(error)) entry.budget.expire(error)
          this.#finish(entry, error)
        },
      )
    }
  }

  async #send(entry: Entry): Promise<unknown> {
    if (this.#setsServerTimeout && this.#client.pipeline !== true) await this.#tellServer(entry.budget.remainingMs())
    if (entry.over) throw entry.budget.reason
    return this.#query(entry.config, entry.values)
  }

  #finish(entry: Entry, error: Error | undefined, result?: unknown): void {
    this.#sent.delete(entry)
    if (!entry.over) {
      entry.over = true
      entry.budget.settle()
      entry.noted?.end(error)
      entry.done(error, result)
    }
    if (this.discarded === undefined) this.#sendNext()
  }

  async #tellServer(leftMs: number): Promise<void> {
    const client = this.#client
    const wantedMs = serverTimeoutFor(leftMs, this.#ownServerMs)
    // pg calls back as soon as it is connected, and notes the state of the session right after.
    if (client.getTransactionStatus?.() === null) await undefined
    const status = client.getTransactionStatus?.()
    try {
      if (status === 'I' && this.#serverMs !== wantedMs) {
        await this.#query(`SET statement_timeout = ${wantedMs}`)
        this.#serverMs = wantedMs
      } else if (status === 'T' && this.#serverMs !== 0 && this.#serverMs < Math.min(leftMs, wantedMs)) {
        // For this transaction alone: a session's value set in here would be gone after a rollback.
        await this.#query(`SET LOCAL statement_timeout = ${wantedMs}`)
      }
    } catch {
      // A server or a proxy that does not know it: our own deadline has to do.
      this.#setsServerTimeout = false
    }
  }

  /** Cancels what it runs and never uses it again. */
  #discard(late: Entry, reason: Error): void {
    if (this.discarded === undefined) {
      this.discarded = reason
      this.#cancel()
    }
    this.#finish(late, reason)
    for (const entry of [...this.#sent, ...this.#line]) this.#finish(entry, discardedError('PostgreSQL', reason))
    this.#line = []
  }

  #cancel(): void {
    const cancellation = pgCancellation(this.#client)
    if (cancellation !== undefined) runCancellation(cancellation)
    // One of a pool is ended by its release; ended here, the pool would not know.
    if (!this.pooled) Promise.resolve(this.#client.end()).catch(() => {})
  }
}

/** PostgreSQL's `query_canceled` says by its words alone whether somebody cancelled or time was up. */
function isStatementTimeout(error: unknown): error is Error {
  return (error as { code?: unknown } | null)?.code === '57014' && /statement timeout/.test(String(error))
}

/** Of a client that is in no pool: one that can not connect in time rejects, and its socket is given up. */
function boundConnect(client: PgClient, options: CheckedDatabaseOptions): void {
  if (BOUND in client) return
  Object.defineProperty(client, BOUND, { value: true })
  const original = client.connect.bind(client)
  const connect = (callback: Callback): void => {
    let budget: Budget
    try {
      budget = openCallBudget(options.acquireMs, 'connect', 'a PostgreSQL connection')
    } catch (error) {
      process.nextTick(callback, error)
      return
    }
    let over = false
    budget.onEnd(reason => {
      over = true
      client.connection?.stream?.destroy()
      callback(reason)
    })
    original(error => {
      if (over) return
      over = true
      budget.settle()
      callback(error, client)
    })
  }
  client.connect = callback => {
    if (callback !== undefined) return connect(AsyncLocalStorage.bind(callback))
    return new Promise((resolve, reject) => {
      connect(error => (error ? reject(error) : resolve(client)))
    })
  }
}

const states = new WeakMap<PgClient, ClientState>()

function boundClient(client: PgClient, options: CheckedDatabaseOptions): ClientState {
  const known = states.get(client)
  if (known !== undefined) return known
  const state = new ClientState(client, options)
  states.set(client, state)
  client.query = (config, values, callback) => state.query(config, values, callback)
  return state
}
