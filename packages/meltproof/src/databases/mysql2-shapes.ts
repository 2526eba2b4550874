/** The members of mysql2 that meltproof uses. It does not import mysql2, because several copies may be installed. */
import type { Socket } from 'node:net'
import type { DatabaseAddress } from '../outbound/call.ts'

export interface Command {
  readonly sql?: unknown
  /** The text of a PREPARE. */
  readonly query?: unknown
  /** Set for a prepared statement, instead of `sql`. */
  readonly statement?: { readonly query?: unknown }
  onResult?: ((error: Error | null, ...results: unknown[]) => void) | undefined
  /** Sends the command. Returns null if it is over at once. */
  start?: (...args: unknown[]) => unknown
  /** Called first without a packet, then with each packet of the answer. Returns true when the command is over. */
  execute?: (packet: unknown, connection: Connection) => boolean
  once?: (event: 'end' | 'result', listener: (result?: { readonly serverStatus?: number }) => void) => unknown
  emit?: (event: 'end' | 'error', error?: Error) => unknown
  listenerCount?: (event: 'error') => number
  /** What handles the next packet of the answer. Not set before the command is sent. */
  readonly next?: unknown
  /** The timer of mysql2's option `timeout`. */
  readonly queryTimeout?: NodeJS.Timeout
}

export interface Connection {
  readonly constructor: ConnectionClass
  addCommand: (command: Command) => Command
  destroy(): void
  query(sql: string, callback: (error: Error | null, result?: unknown) => void): unknown
  on(event: string, listener: (error?: Error & { fatal?: boolean }) => void): unknown
  readonly threadId?: number | null
  readonly _command?: Command | null
  readonly _commands: { shift(): Command | undefined }
  readonly stream: Pick<Socket, 'localPort' | 'remoteAddress' | 'remotePort'>
  /** `stream` is the app's own: a stream, or a function that opens one. */
  readonly config: DatabaseAddress & { readonly stream?: unknown; readonly socketPath?: unknown }
}

interface ConnectionClass {
  readonly name: string
  createQuery(sql: string, values: unknown, callback: unknown, config: object): Command
}

export interface PooledConnection extends Connection {
  release: () => unknown
  readonly _pool?: unknown
}

export interface Pool {
  getConnection: (callback: (error: Error | null, connection?: PooledConnection) => void) => void
  releaseConnection: (connection: PooledConnection) => void
  readonly config: {
    readonly connectionConfig: object
    readonly connectionLimit?: number
  }
  readonly _closed?: boolean
  readonly _connectionQueue?: { readonly length: number }
}

export function isPool(value: unknown): value is Pool {
  const { getConnection, config } = (value ?? {}) as Partial<Pool>
  return typeof getConnection === 'function' && typeof config?.connectionConfig === 'object'
}

export function isConnection(value: unknown): value is Connection {
  const { addCommand, destroy, config } = (value ?? {}) as Partial<Connection>
  return typeof addCommand === 'function' && typeof destroy === 'function' && typeof config === 'object'
}
