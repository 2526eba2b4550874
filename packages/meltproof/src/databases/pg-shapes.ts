/** What is used of pg, by shape: it is an optional peer, and several copies of it may be installed. */
import type { Whereabouts } from '../outbound/call.ts'

export type Callback = (error: Error | undefined | null, result?: unknown, release?: Release) => void
export type Release = (error?: unknown) => void
export type Query = (config: unknown, values?: unknown, callback?: unknown) => unknown

export interface PgConnection {
  readonly stream: { destroy(): void; unref?(): void; once(event: 'secureConnect', listener: () => void): unknown }
  connect(port: number | string, host?: string): void
  requestSsl(): void
  cancel(processID: number, secretKey: number): void
  on(event: 'connect' | 'sslconnect' | 'error' | 'end', listener: () => void): unknown
}

export interface PgClient {
  readonly host?: string
  readonly port?: number
  readonly ssl?: unknown
  readonly sslNegotiation?: string
  readonly processID?: number | null
  readonly secretKey?: number | null
  query: Query
  connect: (callback?: Callback) => unknown
  end: (callback?: () => void) => unknown
  on(event: 'error', listener: () => void): unknown
  removeListener(event: 'error', listener: () => void): unknown
  release?: Release
  readonly connectionParameters?: Whereabouts
  readonly connection?: PgConnection
  getTransactionStatus?: () => string | null
}

export interface PgPool {
  connect: (callback?: Callback) => unknown
  readonly options: Whereabouts & {
    connectionTimeoutMillis?: number
    readonly max?: number
    readonly connectionString?: unknown
  }
  readonly totalCount: number
  readonly waitingCount: number
}

/** A query that takes its answer apart by itself: a cursor, a stream of rows, a COPY. */
export interface OwnQuery {
  readonly submit: unknown
  handleReadyForQuery?: (...args: unknown[]) => unknown
  handleError?: (...args: unknown[]) => unknown
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

export function isOwnQuery(config: unknown): config is OwnQuery {
  return typeof (config as { submit?: unknown } | null | undefined)?.submit === 'function'
}
