/** Keeps connections to PostgreSQL across its restarts, and creates the tables as soon as it answers. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export interface Database {
  /** One connection, for storing. */
  readonly writer: pg.Pool
  /** A few connections, for replays and the clean-up. A slow query is cancelled, and never delays the writer. */
  readonly reader: pg.Pool
  /** Resolves when the tables exist. Never rejects; it is pending while the database is down. */
  readonly ready: Promise<void>
  /** Whether the database answered the last check. */
  up(): boolean
  close(): Promise<void>
}

const SCHEMA = readFileSync(new URL('schema.sql', import.meta.url), 'utf8')
const RETRY_MS = 1000
const LOOK_MS = 2000

export function connect(connectionString: string): Database {
  const common = { connectionString, connectionTimeoutMillis: 2000, keepAlive: true, application_name: 'human-tide' }
  // The client gives up on a query shortly after the server would have: a connection that hangs counts as down.
  const writer = new pg.Pool({ ...common, max: 1, query_timeout: 5000, statement_timeout: 4500 })
  const reader = new pg.Pool({ ...common, max: 4, query_timeout: 6000, statement_timeout: 5500 })
  let isUp = false
  let said: string | undefined

  const went = (error: unknown): void => {
    const message = error === undefined ? undefined : error instanceof Error ? error.message || error.name : `${error}`
    isUp = message === undefined
    // Logged once per change, because the database may be down for long.
    if (isUp && said !== undefined) console.error('human-tide: the database answers again')
    else if (!isUp && message !== said) console.error(`human-tide: the database does not answer: ${message}`)
    said = message
  }
  // Without a listener, an idle connection that breaks would end the process.
  for (const pool of [writer, reader]) pool.on('error', went)

  let closed = false
  const prepare = async (): Promise<void> => {
    while (!closed) {
      try {
        await writer.query(SCHEMA)
        return went(undefined)
      } catch (error) {
        went(error)
        await sleep(RETRY_MS, undefined, { ref: false })
      }
    }
  }
  const ready = prepare()
  const look = setInterval(() => void writer.query('SELECT 1').then(() => went(undefined), went), LOOK_MS)
  look.unref()

  return {
    writer,
    reader,
    ready,
    up: () => isUp,
    async close() {
      closed = true
      clearInterval(look)
      await Promise.all([writer.end(), reader.end()])
    },
  }
}
