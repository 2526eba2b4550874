/** What is used of mysql2, by shape: it is an optional peer, and several copies of it may be installed. */

export interface Command {
  readonly sql?: unknown
  onResult?: ((error: Error | null, ...results: unknown[]) => void) | undefined
  start?: (...args: unknown[]) => unknown
  once?: (event: 'end', listener: () => void) => unknown
}

export interface Connection {
  addCommand: (command: Command) => Command
  destroy(): void
  query(sql: string, callback: (error: Error | null) => void): unknown
  on(event: string, listener: (error?: Error & { fatal?: boolean }) => void): unknown
  readonly threadId?: number | null
  readonly config: object
  readonly stream?: { readonly writable?: boolean }
  readonly _command?: Command | null
}

export interface PooledConnection extends Connection {
  release: () => unknown
}

export type GetConnection = (callback: (error: Error | null, connection?: PooledConnection) => void) => void

export interface Pool {
  getConnection: GetConnection
  releaseConnection: (connection: PooledConnection) => void
  readonly config: {
    readonly connectionConfig: object
    readonly connectionLimit?: number
    readonly waitForConnections?: boolean
    readonly queueLimit?: number
  }
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
