/** meltproof/mysql2: bound() for connections and pools of mysql2 (3), with callbacks or promises. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { bindOnce, markBound, unknownClient } from '../outbound/bound-client.ts'
import { BoundPool } from './bound-pool.ts'
import { checkLimits, type DatabaseLimits } from './limits.ts'
import { MysqlConnection } from './mysql2-connection.ts'
import { isConnection, isPool, type Pool, type PooledConnection } from './mysql2-shapes.ts'

export type { DatabaseLimits } from './limits.ts'

/**
 * Limits a pool or a connection of mysql2 (or of mysql2/promise), in place, and returns it. Every `query()`,
 * `execute()` and wait for a connection gets a deadline: `queryMs`, `acquireMs`, or the rest of its budget if that is
 * shorter. When the deadline passes, the caller gets a DeadlineExceededError at once, and the server a `KILL QUERY`.
 * The connection is used again when the server has finished. Queries without a callback (streams of rows) are not
 * limited.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID`, `MELTPROOF_OPTION_UNKNOWN` or `MELTPROOF_OPTION_INVALID`.
 * @experimental
 */
export function bound<T extends object>(client: T, limits: DatabaseLimits = {}): T {
  const { queryMs, acquireMs } = checkLimits(limits, ['queryMs', 'acquireMs'])
  // The objects of mysql2/promise wrap objects with callbacks, and delegate everything to them.
  const { pool, connection } = client as { pool?: unknown; connection?: unknown }
  const core = [pool, connection, client].find(value => isPool(value) || isConnection(value))
  if (isPool(core)) patchPool(core, queryMs, acquireMs)
  else if (isConnection(core)) bindOnce(core, MysqlConnection, queryMs)
  else throw unknownClient('mysql2', 'a pool or connection of the package mysql2 (version 3)', client)
  return client
}

function patchPool(pool: Pool, queryMs: number, acquireMs: number): void {
  if (!markBound(pool)) return
  const { connectionLimit = 0 } = pool.config
  const size = connectionLimit === 0 ? Number.POSITIVE_INFINITY : connectionLimit
  const original = pool.getConnection
  const ours = new BoundPool<PooledConnection>(pool, acquireMs, {
    database: 'MySQL',
    kind: 'mysql',
    where: pool.config.connectionConfig,
    singleQueries: ['query', 'execute'],
    // Needs no limit: each caller also waits in the pool's own queue, which handles the pool's options and events.
    limit: () => Number.POSITIVE_INFINITY,
    size: () => size,
    waiting: () => pool._connectionQueue?.length ?? 0,
    connect: called => original.call(pool, called),
    giveBack: connection => giveBack(connection),
  })
  const out = new Set<PooledConnection>()
  let givingBack = false
  const giveBack = (connection: PooledConnection): void => {
    givingBack = true
    // The inherited method is used, because the connection's own method belongs to its last borrower.
    ;(Object.getPrototypeOf(connection) as PooledConnection).release.call(connection)
    givingBack = false
  }
  const releaseConnection = pool.releaseConnection.bind(pool)
  // mysql2 calls this when a connection is returned, and when it leaves the pool for good.
  pool.releaseConnection = connection => {
    if (!givingBack && connection._pool && out.has(connection)) {
      connection.release()
      return
    }
    const { getConnection } = pool
    // When a connection was closed, mysql2 requests another one for its longest waiting caller, which has already
    // waited in `ours`.
    pool.getConnection = original
    releaseConnection(connection)
    pool.getConnection = getConnection
    if (out.delete(connection)) ours.queue.free()
  }
  pool.getConnection = callback => {
    // The pool calls back in the context of the caller that released a connection.
    const inContext = AsyncLocalStorage.bind(callback)
    ours.acquire((error, loan) => {
      if (loan === undefined) {
        inContext(error ?? null)
        return
      }
      const { connection } = loan
      out.add(connection)
      // mysql2 accepts no error here, so destroy() removes the connection. An ended pool closes its own.
      loan.giveBack = unfit => (unfit && pool._closed !== true ? connection.destroy() : giveBack(connection))
      connection.release = bindOnce(connection, MysqlConnection, queryMs)?.checkOut(ours, loan) ?? loan.giveBack
      inContext(null, connection)
    })
  }
}
