/** The members of pg that meltproof uses. It does not import pg, because several copies may be installed. */
import type { DatabaseAddress } from '../outbound/call.ts'

export type Callback = (error: Error | undefined | null, result?: unknown, release?: Release) => void
export type Release = (error?: unknown) => void
export type Query = (config: unknown, values?: unknown, callback?: unknown) => unknown

export interface PgConnection {
  readonly stream: { destroy(): void; unref?(): void; once(event: 'secureConnect', listener: () => void): unknown }
  connect(port: number | string, host?: string): void
  requestSsl(): void
  cancel(processID: number, secretKey: number): void
  query(text: string): void
  on(event: 'connect' | 'sslconnect' | 'error' | 'end', listener: () => void): unknown
  once(event: 'readyForQuery' | 'end', listener: () => void): unknown
  emit(event: 'error', error: Error): unknown
  prependListener(event: 'readyForQuery', listener: (message?: { readonly status?: string }) => void): unknown
}

/** An entry in the queue of a client. Entries that an app creates (cursors, streams) may have only `submit`. */
export interface PgQuery {
  /** Sends the entry. If it returns an error, the entry is over. */
  submit: (connection: PgConnection) => unknown
  callback?: Callback
  handleReadyForQuery?: (...args: unknown[]) => unknown
  handleError?: (...args: unknown[]) => unknown
}

export interface PgClient {
  readonly host?: string
  readonly port?: number
  readonly ssl?: unknown
  readonly sslNegotiation?: string
  readonly processID?: number | null
  readonly secretKey?: number | null
  readonly pipeline?: boolean
  query: Query
  connect: (callback?: Callback) => unknown
  end: (callback?: () => void) => unknown
  on(event: 'error', listener: () => void): unknown
  removeListener(event: 'error', listener: () => void): unknown
  release?: Release
  readonly connectionParameters?: DatabaseAddress
  readonly connection?: PgConnection
  getTransactionStatus?: () => string | null
  readonly _Promise?: PromiseConstructor
  readonly _activeQuery?: PgQuery | null
  readonly activeQuery?: PgQuery | null
  readonly _queryQueue?: PgQuery[]
  readonly queryQueue?: PgQuery[]
  readonly _sentQueryQueue?: PgQuery[]
}

export interface PgPool {
  connect: (callback?: Callback) => unknown
  readonly Promise?: PromiseConstructor
  readonly options: DatabaseAddress & {
    connectionTimeoutMillis?: number
    readonly max?: number
    readonly connectionString?: unknown
  }
  readonly totalCount: number
}

export function isPool(value: object): value is PgPool {
  const { connect, options, totalCount } = value as Partial<PgPool>
  return typeof connect === 'function' && typeof options === 'object' && typeof totalCount === 'number'
}

export function isClient(value: object): value is PgClient {
  const { query, connect, connection } = value as Partial<PgClient>
  return (
    typeof query === 'function' &&
    typeof connect === 'function' &&
    typeof connection === 'object' &&
    'processID' in value
  )
}

/** A query that parses its answer itself: a cursor, a stream of rows, a COPY. */
export function isOwnQuery(config: unknown): config is PgQuery {
  return typeof (config as { submit?: unknown } | null | undefined)?.submit === 'function'
}
