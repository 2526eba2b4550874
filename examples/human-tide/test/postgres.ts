/** Runs a real PostgreSQL for a test file, in its own folder; end() stops it and removes the folder. */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type EmbeddedDatabase, embeddedDatabase } from '../src/database/embedded.ts'

export interface TestDatabase {
  readonly url: string
  /** Queries the database directly, without the service. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Ends PostgreSQL as a crash would: without a shutdown, and with recovery from the log at the next start. */
  crash(): Promise<void>
  restart(): Promise<void>
  end(): Promise<void>
}

export async function testDatabase(): Promise<TestDatabase> {
  const folder = mkdtempSync(path.join(tmpdir(), 'human-tide-test-'))
  // If the tests run as root, PostgreSQL runs as another user.
  chmodSync(folder, 0o755)
  let database: EmbeddedDatabase = await embeddedDatabase(folder)
  return {
    url: database.url,
    async query(text, values) {
      const client = new pg.Client(database.url)
      await client.connect()
      try {
        return (await client.query(text, values)).rows
      } finally {
        await client.end()
      }
    },
    async crash() {
      const pid = Number(readFileSync(path.join(folder, 'cluster/postmaster.pid'), 'utf8').split('\n')[0])
      process.kill(pid, 'SIGQUIT') // PostgreSQL's "immediate shutdown"
      while (alive(pid)) await sleep(20)
    },
    async restart() {
      database = await embeddedDatabase(folder)
    },
    async end() {
      await database.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
