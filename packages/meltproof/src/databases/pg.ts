/**
 * meltproof/pg: bound() for clients and pools of pg (node-postgres 8, the JavaScript one). A query whose deadline has
 * passed rejects on time and is cancelled at the server; its connection is used again once the server is done with it.
 *
 * Patches the instance it is given, so that whoever holds it already (an ORM, say) is bounded too.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Budget } from '../deadline/budget.ts'
import { show } from '../options.ts'
import { type BoundDatabaseOptions, type CheckedDatabaseOptions, checkDatabaseOptions } from './bound-options.ts'
import { openCallBudget } from './call-budget.ts'
import { Cancellations } from './cancellations.ts'
import { ConnectionLine, type ConnectionSource } from './connection-line.ts'
import { notRecognised } from './discarded.ts'
import { BoundClient, type Lender } from './pg-client.ts'
import { type Callback, isClient, isPool, type PgClient, type PgPool } from './pg-shapes.ts'
import { Replacements } from './replacements.ts'

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
 * caller gets a DeadlineExceededError at once, the server a cancel request, and the connection is used again when the
 * server has said that the query is over. The same when the budget ends early because the client has left.
 *
 * Cursors and streams (pg-cursor, pg-query-stream, pg-copy-streams) run at the reader's pace and get no deadline.
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

const BOUND = Symbol.for('meltproof.bound')

// Pool ------------------------------------------------------------------------------------------------------------

/** pg's own connection timeout, where none is set, is this many times ours: it only clears away what we gave up. */
const BACKSTOP = 2

function boundPool(pool: PgPool, options: CheckedDatabaseOptions): void {
  if (BOUND in pool) return
  Object.defineProperty(pool, BOUND, { value: true })
  pool.options.connectionTimeoutMillis ||= BACKSTOP * options.acquireMs
  const original = pool.connect.bind(pool)
  const limit = (): number => pool.options.max ?? Number.POSITIVE_INFINITY
  const line = new ConnectionLine<PgClient>({
    limit,
    connect: original as ConnectionSource<PgClient>['connect'],
    giveBack: client => client.release?.(),
  })
  const lender: Lender = { line, replacements: new Replacements(limit), cancellations: new Cancellations() }
  const own = Object.getPrototypeOf(pool) as object
  Object.defineProperty(pool, 'waitingCount', {
    configurable: true,
    get: () => line.waiting + Number(Reflect.get(own, 'waitingCount', pool)),
  })
  const acquire = (callback: Callback): void => {
    let budget: Budget
    try {
      budget = openCallBudget(options.acquireMs, 'acquire', 'a PostgreSQL connection')
    } catch (error) {
      process.nextTick(callback, error)
      return
    }
    line.wait(budget, (error, client) => {
      if (error || client === undefined) {
        callback(error, undefined, () => {})
        return
      }
      const given = boundClient(client, options)
      client.release = given.checkOut(lender, client.release)
      callback(undefined, client, client.release)
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

const clients = new WeakMap<PgClient, BoundClient>()

function boundClient(client: PgClient, options: CheckedDatabaseOptions): BoundClient {
  const known = clients.get(client)
  if (known !== undefined) return known
  const made = new BoundClient(client, options)
  clients.set(client, made)
  client.query = (config, values, callback) => made.query(config, values, callback)
  return made
}
