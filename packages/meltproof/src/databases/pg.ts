/** meltproof/pg: bound() for clients and pools of pg (node-postgres 8, not pg-native). */
import { AsyncLocalStorage } from 'node:async_hooks'
import { nextTick } from 'node:process'
import { Budget } from '../deadline/budget.ts'
import { openBudget } from '../deadline/context.ts'
import { bindOnce, isBound, markBound, unknownClient } from '../outbound/bound-client.ts'
import type { DatabaseAddress } from '../outbound/call.ts'
import { BoundPool, type Loan, type PoolSource } from './bound-pool.ts'
import { checkLimits, type DatabaseLimits } from './limits.ts'
import { BoundClient } from './pg-client.ts'
import { type Callback, isClient, isPool, type PgClient, type PgPool } from './pg-shapes.ts'

export type { DatabaseLimits } from './limits.ts'

/**
 * Limits a Pool or a Client of pg, in place, and returns it. Every `query()` and every wait for a connection gets a
 * deadline: `queryMs`, `acquireMs`, or the rest of its budget if that is shorter. When the deadline passes, the caller
 * gets a DeadlineExceededError at once, and the server a cancel request. The connection is used again when the server
 * has finished. Cursors and streams are read at their reader's pace and get no deadline.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID`, `MELTPROOF_OPTION_UNKNOWN` or `MELTPROOF_OPTION_INVALID`.
 * @experimental
 */
export function bound<T extends object>(client: T, limits: DatabaseLimits = {}): T {
  const { queryMs, acquireMs } = checkLimits(limits, ['queryMs', 'acquireMs'])
  if (isPool(client)) patchPool(client, queryMs, acquireMs)
  else if (isClient(client)) {
    if (isBound(client)) return client
    bindOnce(client, BoundClient, queryMs)
    patchConnect(client, acquireMs)
  } else throw unknownClient('pg', 'a Pool or Client of the package pg (version 8, not pg-native)', client)
  return client
}

/** pg's connection timeout, if not set, becomes this multiple of acquireMs. So pg ends waits that meltproof gave up. */
const BACKSTOP = 2

function patchPool(pool: PgPool, queryMs: number, acquireMs: number): void {
  if (!markBound(pool)) return
  if (acquireMs < Number.POSITIVE_INFINITY) pool.options.connectionTimeoutMillis ||= BACKSTOP * acquireMs
  const size = (): number => pool.options.max ?? Number.POSITIVE_INFINITY
  const own = Object.getPrototypeOf(pool) as object
  const ours = new BoundPool<PgClient>(pool, acquireMs, {
    database: 'PostgreSQL',
    kind: 'pg',
    where: addressOf(pool.options),
    singleQueries: ['query'],
    limit: size,
    size,
    waiting: () => Number(Reflect.get(own, 'waitingCount', pool)),
    connect: pool.connect.bind(pool) as PoolSource<PgClient>['connect'],
    giveBack: client => client.release?.(),
  })
  const acquire = (done: Callback): void =>
    ours.acquire((error, loan) => {
      if (loan === undefined) {
        done(error, undefined, () => {})
        return
      }
      const { connection } = loan
      lend(ours, bindOnce(connection, BoundClient, queryMs), loan)
      done(undefined, connection, connection.release)
    })
  // The pool calls back in the context of the caller that released a connection.
  pool.connect = callback => {
    if (callback !== undefined) return acquire(AsyncLocalStorage.bind(callback))
    const connected = new (pool.Promise ?? Promise)((resolve, reject) => {
      acquire((error, client) => (error ? reject(error) : resolve(client)))
    })
    // As in pg-pool: the stack leads to the caller, and not to a timer or a socket.
    return connected.catch((error: unknown) => {
      if (error instanceof Error && Object.isExtensible(error)) Error.captureStackTrace(error)
      throw error
    })
  }
}

/** This is no closure of acquire(), because an idle client would then keep its last caller in memory. */
function lend(pool: BoundPool<PgClient>, bound: BoundClient | undefined, loan: Loan<PgClient>): void {
  const { connection: client } = loan
  const original = client.release
  const giveBack = (error?: unknown): void => {
    original?.(error)
    pool.queue.free()
    client.removeListener('error', ignore)
  }
  loan.giveBack = giveBack
  const release = bound?.checkOut(pool, loan) ?? giveBack
  let out = true
  client.release = error => {
    if (!out) throw new Error('Release called on client which has already been released to the pool.')
    out = false
    // Keeps an error from ending the process, until the pool has the client back and listens itself.
    client.on('error', ignore)
    release(error)
  }
}

const ignore = (): void => {}

function addressOf({ connectionString, host, port, database }: PgPool['options']): DatabaseAddress {
  const url = typeof connectionString === 'string' ? URL.parse(connectionString) : null
  return url === null
    ? { host, port, database }
    : { host: url.hostname, port: url.port, database: url.pathname.slice(1) }
}

/** For a client without a pool: when it cannot connect in time, its socket is closed. */
function patchConnect(client: PgClient, acquireMs: number): void {
  const original = client.connect.bind(client)
  let asked = false
  client.connect = callback => {
    const { connection } = client
    // pg connects only once, and throws the second time.
    if (asked || connection === undefined) return original(callback)
    asked = true
    const budget = openBudget(acquireMs, { phase: 'connect', what: 'a PostgreSQL connection' })
    if (!(budget instanceof Budget)) {
      if (callback === undefined) return (client._Promise ?? Promise).reject(budget)
      nextTick(callback, budget)
      return undefined
    }
    for (const over of ['readyForQuery', 'end'] as const) connection.once(over, () => budget.settle())
    budget.onEnd(reason => {
      // pg passes this error to the caller of connect().
      connection.emit('error', reason)
      connection.stream?.destroy()
    })
    return original(callback)
  }
}
