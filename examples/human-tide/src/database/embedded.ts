/**
 * Runs a PostgreSQL from npm, for users who have none. It is a separate process, so it survives a crash of the service,
 * and the next start finds it again.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export interface EmbeddedDatabase {
  readonly url: string
  readonly pid: number
  /** Shuts PostgreSQL down; committed data is there at the next start. */
  stop(): Promise<void>
}

/** Maximum time of a start, ms: creating a cluster takes about 2 s, and recovery after a crash may take longer. */
const PATIENCE_MS = 60_000

/** Starts PostgreSQL, or finds it running. Creates `dataDir`. */
export async function embeddedDatabase(dataDir: string): Promise<EmbeddedDatabase> {
  mkdirSync(dataDir, { recursive: true })
  const folder = path.resolve(dataDir)
  const isUp = postmaster(folder) === undefined ? await start(folder) : await waitFor(folder, () => true)
  if (!isUp) throw new Error(`PostgreSQL does not answer; its log is ${path.join(folder, 'postgres.log')}`)
  const pid = postmaster(folder)!
  return { url: urlOf(folder)!, pid, stop: () => stop(pid) }
}

async function start(folder: string): Promise<boolean> {
  const log = openSync(path.join(folder, 'postgres.log'), 'a')
  const script = fileURLToPath(new URL('embedded-server.ts', import.meta.url))
  // Detached, so that Ctrl-C in the terminal reaches only the service, which ends the database after its last COMMIT.
  const server = spawn(process.execPath, [script, folder], { detached: true, stdio: ['ignore', log, log] })
  server.unref()
  let ended = false
  server.once('exit', () => {
    ended = true
  })
  return waitFor(folder, () => !ended)
}

async function waitFor(folder: string, hopeful: () => boolean): Promise<boolean> {
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until && hopeful(); await sleep(100)) {
    if (await answers(folder)) return true
  }
  return false
}

async function answers(folder: string): Promise<boolean> {
  const url = urlOf(folder)
  if (url === undefined || postmaster(folder) === undefined) return false
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/** The address that embedded-server.ts has written; undefined before it has. */
function urlOf(folder: string): string | undefined {
  const file = path.join(folder, 'url')
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/** The process named by PostgreSQL's own lock file, if it is alive. */
function postmaster(folder: string): number | undefined {
  try {
    const pid = Number(readFileSync(path.join(folder, 'cluster/postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(pid, 0)
    return pid
  } catch {
    return undefined
  }
}

async function stop(pid: number): Promise<void> {
  // SIGINT is PostgreSQL's "fast shutdown": sessions are ended, everything is written.
  for (let sent = false; ; sent = true) {
    try {
      process.kill(pid, sent ? 0 : 'SIGINT')
    } catch {
      return // it has ended
    }
    await sleep(50)
  }
}
