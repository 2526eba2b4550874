/**
 * `npm run storm -w human-tide`: two shores side by side under the same load, one bare and one protected. Its page, for
 * this computer only, sets the number of phones, and protect() and console.log for each shore. Ctrl-C ends everything.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { readConfig } from '../src/config.ts'
import { type EmbeddedDatabase, embeddedDatabase } from '../src/database/embedded.ts'
import { allowedCores, coresOf, pin } from './cores.ts'
import { pageApp } from './page-server.ts'
import { STORM, changed, type Settings } from './settings.ts'
import { Side } from './side.ts'
import { LINES_PER_S } from './slow-log.ts'

const PORT = 3100
/** The tables are emptied this often, ms: a storm of an hour would store millions of rows that are never read. */
const EMPTY_MS = 30_000
const NAMES = ['left', 'right'] as const

if (process.platform === 'win32')
  fail('The storm needs blocking pipes, which Windows does not have: run it on Linux or macOS, or in WSL.')
const { port, dataDir } = readConfig({ PORT: String(PORT), ...process.env })
let settings: Settings = STORM
let sides: Readonly<Record<'left' | 'right', Side>> | undefined
/** Assigned before the database has started, so that `stop()` also ends a database that is still starting. */
let database: Promise<EmbeddedDatabase> | undefined
let folder = ''
let stopping = false
const cores = coresOf(allowedCores())

const server = http.createServer(
  pageApp({
    tell: () => ({
      ...settings,
      machine: machineWords(),
      linesPerS: LINES_PER_S,
      sides: NAMES.map(name => ({ name, ...sides?.[name].figures, ages: sides?.[name].ages ?? '' })),
    }),
    set(given) {
      settings = changed(settings, given)
      for (const name of NAMES) {
        sides?.[name].set(settings[name])
        sides?.[name].setPhones(settings.phones)
      }
    },
  }),
)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0))
// The port is taken before anything is started: two storms at once would disturb each other's figures.
await new Promise<void>(resolve => {
  server.once('error', error =>
    fail(`The storm can not listen on 127.0.0.1:${port}: ${error.message}. If another storm runs, set PORT.`),
  )
  server.listen(port, '127.0.0.1', resolve)
})
// If the service started the storm (src/storm.ts), it needs the port of the page, and the storm ends with it.
process.send?.((server.address() as { port: number }).port)
process.once('disconnect', () => void stop(0))
folder = mkdtempSync(path.join(tmpdir(), 'human-tide-storm-'))
if (cores !== undefined) pin(process.pid, cores.rest)
console.log('Starting two services, their phones and a PostgreSQL server...')

try {
  const ports = [await freePort(), await freePort()]
  const data = path.join(dataDir, 'storm')
  mkdirSync(data, { recursive: true })
  database = embeddedDatabase(data)
  const { url } = await database
  const urls = await Promise.all(NAMES.map(name => databaseOf(url, name)))
  const [left, right] = NAMES.map(
    (name, index) =>
      new Side({ port: ports[index]!, databaseUrl: urls[index]!, folder, core: cores?.[name] }, settings[name]),
  ) as [Side, Side]
  sides = { left, right }
  await Promise.all([left.start(), right.start()])
  for (const name of NAMES) sides[name].setPhones(settings.phones)
  setInterval(() => void Promise.all(urls.map(empty)), EMPTY_MS)
  console.log(`Open http://127.0.0.1:${(server.address() as { port: number }).port}/\nCtrl-C ends everything.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  await stop(1)
}

async function stop(code: number): Promise<void> {
  if (stopping) return
  stopping = true
  await Promise.all(NAMES.map(name => sides?.[name].end()))
  await (await database?.catch(() => undefined))?.stop()
  if (folder !== '') rmSync(folder, { recursive: true, force: true })
  process.exit(code)
}

/** Creates a database for each side, so that neither waits for the other's tables. */
async function databaseOf(url: string, name: string): Promise<string> {
  await ask(url, `CREATE DATABASE storm_${name}`).catch(error => {
    if (error.code !== '42P04') throw error // duplicate_database: an earlier storm created it
  })
  const own = new URL(url)
  own.pathname = `/storm_${name}`
  return own.href
}

const empty = (url: string): Promise<void> => ask(url, 'TRUNCATE positions').catch(() => {})

async function ask(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

function machineWords(): string {
  if (cores === undefined) return 'no process is pinned to a core'
  return cores.left === cores.right ? 'both services share one core, evenly' : 'each service has its own core'
}

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address() as { port: number }
      probe.close(() => resolve(free))
    })
  })
}

function fail(why: string): never {
  console.error(why)
  process.exit(1)
}
