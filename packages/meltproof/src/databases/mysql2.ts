/**
 * meltproof/mysql2: bound() for connections and pools of mysql2 (3), with callbacks or promises. A query whose deadline
 * has passed calls back on time, is ended at the server by KILL QUERY, and its connection is discarded.
 *
 * Patches the instance it is given, so that whoever holds it already (an ORM, say) is bounded too.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Budget } from '../deadline/budget.ts'
import { show } from '../options.ts'
import { type BoundDatabaseOptions, type CheckedDatabaseOptions, checkDatabaseOptions } from './bound-options.ts'
import { openCallBudget } from './call-budget.ts'
import { type Cancellation, runCancellation } from './cancellations.ts'
import { discardedError, notRecognised } from './discarded.ts'
import { noteCall } from './note-call.ts'

/**
 * Bounds a pool or a connection of mysql2 (or of mysql2/promise), in place, and returns it. Every `query()`,
 * `execute()` and wait for a connection gets a deadline: `queryMs`, `acquireMs`, or what is left of the budget it runs
 * in, whichever is less. When it passes, the caller gets a DeadlineExceededError at once, the server a `KILL QUERY`,
 * and the connection is not used again. The same when the budget ends early because the client has left.
 *
 * Queries without a callback (streams of rows) run at the reader's pace and are left alone.
 *
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID` for anything else, and for options that are unknown or out of range.
 */
export function bound<T extends object>(client: T, options: BoundDatabaseOptions = {}): T {
  const checked = checkDatabaseOptions('bound(client, options)', options)
  // Those of mysql2/promise stand before one with callbacks, and leave everything to it.
  const { pool, connection } = client as { pool?: unknown; connection?: unknown }
  const core = [pool, connection, client].find(value => isPool(value) || isConnection(value))
  if (isPool(core)) boundPool(core, checked)
  else if (isConnection(core)) boundConnection(core, checked)
  else throw notRecognised('mysql2', 'a pool or connection of the package mysql2 (version 3)', show(client))
  return client
}

// What is used of mysql2, by shape: it is an optional peer, and several copies of it may be installed.

interface Command {
  readonly sql?: unknown
  onResult?: ((error: Error | null, ...results: unknown[]) => void) | undefined
  start?: (...args: unknown[]) => unknown
}

interface Connection {
  addCommand: (command: Command) => Command
  destroy(): void
  query(sql: string, callback: (error: Error | null) => void): unknown
  on(event: string, listener: (error?: Error) => void): unknown
  readonly threadId?: number | null
  readonly config: object
  readonly _command?: Command | null
  readonly _pool?: unknown
}

type GetConnection = (callback: (error: Error | null, connection?: Connection & { release(): void }) => void) => void

interface Pool {
  getConnection: GetConnection
  readonly config: { readonly connectionConfig: object }
}

function isPool(value: unknown): value is Pool {
  const { getConnection, config } = (value ?? {}) as Partial<Pool>
  return typeof getConnection === 'function' && typeof config?.connectionConfig === 'object'
}

function isConnection(value: unknown): value is Connection {
  const { addCommand, destroy, config } = (value ?? {}) as Partial<Connection>
  return typeof addCommand === 'function' && typeof destroy === 'function' && typeof config === 'object'
}

const BOUND = Symbol.for('meltproof.bound')

function boundPool(pool: Pool, options: CheckedDatabaseOptions): void {
  if (BOUND in pool) return
  Object.defineProperty(pool, BOUND, { value: true })
  const original = pool.getConnection.bind(pool)
  pool.getConnection = callback => {
    // The pool calls back from whoever released a connection: without this the query would run in their budget.
    const inContext = AsyncLocalStorage.bind(callback)
    let budget: Budget
    try {
      budget = openCallBudget(options.acquireMs, 'acquire', 'a MySQL connection')
    } catch (error) {
      process.nextTick(inContext, error)
      return
    }
    let over = false
    budget.onEnd(reason => {
      over = true
      inContext(reason as Error)
    })
    original((error, connection) => {
      // It came too late: the next one in line may have it.
      if (over) {
        connection?.release()
        return
      }
      over = true
      budget.settle()
      if (connection !== undefined) boundConnection(connection, options)
      inContext(error, connection)
    })
  }
}

interface InFlight {
  readonly command: Command
  finish(error: Error): void
}

function boundConnection(connection: Connection, options: CheckedDatabaseOptions): void {
  if (BOUND in connection) return
  Object.defineProperty(connection, BOUND, { value: true })
  const original = connection.addCommand
  const inFlight = new Set<InFlight>()
  let discarded: Error | undefined

  const discard = (reason: Error): void => {
    discarded = reason
    const kill = killQuery(connection)
    if (kill !== undefined) runCancellation(kill)
    connection.destroy()
    // mysql2 puts its own here, which says less.
    connection.addCommand = bounded
    for (const other of inFlight) other.finish(discardedError('MySQL', reason))
  }

  const bounded = (command: Command): Command => {
    const { onResult } = command
    // A handshake, a ping, a stream of rows: no query that somebody waits for.
    if (typeof command.sql !== 'string' || typeof onResult !== 'function') return original.call(connection, command)
    const refuse = (error: unknown): Command => {
      command.onResult = undefined
      process.nextTick(onResult, error)
      // Through the line all the same, where it ends without having sent anything: a pool waits for its end.
      command.start = () => null
      return discarded === undefined ? original.call(connection, command) : command
    }
    if (discarded !== undefined) return refuse(discardedError('MySQL', discarded))
    let budget: Budget
    try {
      budget = openCallBudget(options.queryMs, 'query', 'a MySQL query')
    } catch (error) {
      return refuse(error)
    }
    const inContext = AsyncLocalStorage.bind(onResult)
    const noted = noteCall('mysql', connection.config, 'query')
    const entry: InFlight = {
      command,
      finish: error => {
        if (!inFlight.delete(entry)) return
        budget.settle()
        noted?.end(error)
        command.onResult = () => {}
        process.nextTick(inContext, error)
      },
    }
    inFlight.add(entry)
    command.onResult = (error, ...results) => {
      if (!inFlight.delete(entry)) return
      budget.settle()
      noted?.end(error)
      inContext(error, ...results)
    }
    budget.onEnd(reason => {
      const running = connection._command === command
      // Still in line: it ends there without having been sent, and nobody else's query is touched.
      if (!running) command.start = () => null
      entry.finish(reason)
      if (running) discard(reason)
    })
    return original.call(connection, command)
  }
  connection.addCommand = bounded
}

/** Ends what the connection's thread is running, from a connection of its own made the same way. */
function killQuery(connection: Connection): Cancellation | undefined {
  const { threadId, config } = connection
  if (typeof threadId !== 'number') return undefined
  // A pool's connection takes itself out of the pool, and back in; what it extends does neither.
  const own = connection.constructor
  const plain = own.name === 'PoolConnection' ? Object.getPrototypeOf(own) : own
  return done => {
    const killer = new (plain as new (options: object) => Connection)({ config })
    const end = (): void => {
      killer.destroy()
      done()
    }
    killer.on('error', end)
    killer.query(`KILL QUERY ${threadId}`, end)
    return () => killer.destroy()
  }
}
