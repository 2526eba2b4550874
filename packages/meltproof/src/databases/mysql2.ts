/** meltproof/mysql2: bound() for connections and pools of mysql2 (3), with callbacks or promises. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { markBound, unknownClient } from '../outbound/bound-client.ts'
import { BoundPool } from './bound-pool.ts'
import { checkLimits, type DatabaseLimits } from './limits.ts'
import { MysqlConnection } from './mysql2-connection.ts'
import { type Connection, isConnection, isPool, type Pool, type PooledConnection } from './mysql2-shapes.ts'

export type { DatabaseLimits } from './limits.ts'

/**
 * Bounds a pool or a connection of mysql2 (or of mysql2/promise), in place, and returns it. Every `query()`,
 * `execute()` and wait for a connection gets a deadline: `queryMs`, `acquireMs`, or what is left of its budget. When it
 * passes, the caller gets a DeadlineExceededError at once, the server a `KILL QUERY`, and the connection is used again
 * when the server is done. Queries without a callback (streams of rows) are left alone.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID` for anything else, and for limits unknown or out of range.
 */
export function bound<T extends object>(client: T, limits: DatabaseLimits = {}): T {
  const { queryMs, acquireMs } = checkLimits(limits, ['queryMs', 'acquireMs'])
  // Those of mysql2/promise stand before one with callbacks, and leave everything to it.
  const { pool, connection } = client as { pool?: unknown; connection?: unknown }
  const core = [pool, connection, client].find(value => isPool(value) || isConnection(value))
  if (isPool(core)) patchPool(core, queryMs, acquireMs)
  else if (isConnection(core)) boundConnectionOf(core, queryMs)
  else throw unknownClient('mysql2', 'a pool or connection of the package mysql2 (version 3)', client)
  return client
}

function patchPool(pool: Pool, queryMs: number, acquireMs: number): void {
  if (!markBound(pool)) return
  const { connectionLimit = 0, waitForConnections, queueLimit = 0 } = pool.config
  const size = connectionLimit === 0 ? Number.POSITIVE_INFINITY : connectionLimit
  // With these options mysql2's own line does what the app asked for.
  const ownLine = waitForConnections === false || queueLimit > 0
  // The inherited one: the connection's own belongs to its last user.
  const giveBack = (connection: PooledConnection): void => {
    const { release } = Object.getPrototypeOf(connection) as PooledConnection
    release.call(connection)
  }
  const ours = new BoundPool<PooledConnection>(pool, acquireMs, {
    database: 'MySQL',
    kind: 'mysql',
    where: pool.config.connectionConfig,
    limit: () => (ownLine ? Number.POSITIVE_INFINITY : size),
    size: () => size,
    waiting: () => pool._connectionQueue?.length ?? 0,
    connect: pool.getConnection.bind(pool),
    giveBack,
  })
  const out = new Set<PooledConnection>()
  const releaseConnection = pool.releaseConnection.bind(pool)
  // A connection passes here when it comes back, and when it leaves the pool for good.
  pool.releaseConnection = connection => {
    releaseConnection(connection)
    if (out.delete(connection)) ours.line.free()
  }
  pool.getConnection = callback => {
    // The pool calls back in the context of the caller that released a connection.
    const inContext = AsyncLocalStorage.bind(callback)
    ours.acquire((error, connection, call) => {
      if (error || connection === undefined) {
        inContext(error ?? null)
        return
      }
      out.add(connection)
      const given = boundConnectionOf(connection, queryMs)
      connection.release = given.checkOut(ours, call, () => giveBack(connection))
      inContext(null, connection)
    })
  }
}

const connections = new WeakMap<Connection, MysqlConnection>()

function boundConnectionOf(connection: Connection, queryMs: number): MysqlConnection {
  const known = connections.get(connection)
  if (known !== undefined) return known
  const made = new MysqlConnection(connection, queryMs)
  connections.set(connection, made)
  return made
}
