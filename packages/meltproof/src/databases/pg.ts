/** meltproof/pg: bound() for clients and pools of pg (node-postgres 8, not pg-native). */
import { nextTick } from 'node:process'
import { Budget } from '../deadline/budget.ts'
import { openBudget } from '../deadline/context.ts'
import { markBound, unknownClient } from '../outbound/bound-client.ts'
import type { Whereabouts } from '../outbound/call.ts'
import { BoundPool, type PoolSource } from './bound-pool.ts'
import { checkLimits, type DatabaseLimits } from './limits.ts'
import { BoundClient, callbackOrPromise } from './pg-client.ts'
import { type Callback, isClient, isPool, type PgClient, type PgPool } from './pg-shapes.ts'

export type { DatabaseLimits } from './limits.ts'

/**
 * Bounds a Pool or a Client of pg, in place, and returns it. Every `query()` and every wait for a connection gets a
 * deadline: `queryMs`, `acquireMs`, or what is left of its budget. When it passes, the caller gets a
 * DeadlineExceededError at once, the server a cancel request, and the connection is used again when the server is done.
 * Cursors and streams run at their reader's pace and get no deadline.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID` for anything else, and for limits unknown or out of range.
 */
export function bound<T extends object>(client: T, limits: DatabaseLimits = {}): T {
  const { queryMs, acquireMs } = checkLimits(limits, ['queryMs', 'acquireMs'])
  if (isPool(client)) patchPool(client, queryMs, acquireMs)
  else if (isClient(client)) {
    boundClientOf(client, queryMs)
    patchConnect(client, acquireMs)
  } else throw unknownClient('pg', 'a Pool or Client of the package pg (version 8, not pg-native)', client)
  return client
}

/** pg's own connection timeout, where none is set, is this many times ours: it clears away what we gave up. */
const BACKSTOP = 2

function patchPool(pool: PgPool, queryMs: number, acquireMs: number): void {
  if (!markBound(pool)) return
  if (acquireMs < Number.POSITIVE_INFINITY) pool.options.connectionTimeoutMillis ||= BACKSTOP * acquireMs
  const size = (): number => pool.options.max ?? Number.POSITIVE_INFINITY
  const own = Object.getPrototypeOf(pool) as object
  const ours = new BoundPool<PgClient>(pool, acquireMs, {
    database: 'PostgreSQL',
    kind: 'pg',
    where: whereOf(pool.options),
    limit: size,
    size,
    waiting: () => Number(Reflect.get(own, 'waitingCount', pool)),
    connect: pool.connect.bind(pool) as PoolSource<PgClient>['connect'],
    giveBack: client => client.release?.(),
  })
  const acquire = (done: Callback): void => {
    ours.acquire((error, client, call) => {
      if (error || client === undefined) {
        done(error, undefined, () => {})
        return
      }
      const release = boundClientOf(client, queryMs).checkOut(ours, call, client.release)
      client.release = fault => {
        if (!release(fault)) throw new Error('Release called on client which has already been released to the pool.')
      }
      done(undefined, client, client.release)
    })
  }
  // The pool calls back in the context of the caller that released a connection.
  pool.connect = callback => callbackOrPromise(callback, acquire)
}

function whereOf({ connectionString, host, port, database }: PgPool['options']): Whereabouts {
  const url = typeof connectionString === 'string' ? URL.parse(connectionString) : null
  return url === null
    ? { host, port, database }
    : { host: url.hostname, port: url.port, database: url.pathname.slice(1) }
}

/** For a client in no pool: when it cannot connect in time, its socket is closed. */
function patchConnect(client: PgClient, acquireMs: number): void {
  if (!markBound(client)) return
  const original = client.connect.bind(client)
  const connect = (done: Callback): void => {
    const budget = openBudget(acquireMs, { phase: 'connect', what: 'a PostgreSQL connection' })
    if (!(budget instanceof Budget)) {
      nextTick(done, budget)
      return
    }
    let over = false
    budget.onEnd(reason => {
      over = true
      client.connection?.stream?.destroy()
      done(reason)
    })
    original(error => {
      if (over) return
      over = true
      budget.settle()
      done(error, client)
    })
  }
  client.connect = callback => callbackOrPromise(callback, connect)
}

const clients = new WeakMap<PgClient, BoundClient>()

function boundClientOf(client: PgClient, queryMs: number): BoundClient {
  const known = clients.get(client)
  if (known !== undefined) return known
  const made = new BoundClient(client, queryMs)
  clients.set(client, made)
  client.query = (config, values, callback) => made.query(config, values, callback)
  return made
}
