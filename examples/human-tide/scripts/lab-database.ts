/**
 * The database of `meltlab run tide`: a PostgreSQL in a temporary folder, and an HTTP server on PORT that checks its
 * rows. Of the service it knows only the tables, and how the service derives a walker's id from a phone's key.
 */
import { hash } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { embeddedDatabase } from '../src/database/embedded.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'human-tide-lab-'))
chmodSync(folder, 0o755) // If the lab runs as root, PostgreSQL runs as another user.
let database = await embeddedDatabase(folder)

interface Acknowledged {
  /** The key of a phone is this prefix and a number of ten digits, from {@link FIRST} on. */
  readonly prefix: string
  readonly senders: number
  /** Numbers of the acknowledged requests (turn * senders + sender), as 32-bit words in base64. */
  readonly numbers: string
}
const FIRST = 1_000_000_000

const routes: Readonly<Record<string, (body: string) => Promise<unknown>>> = {
  'GET /url': async () => ({ url: database.url }),
  'POST /missing': async body => missing(JSON.parse(body)),
  'POST /crash': async () => {
    process.kill(database.pid, 'SIGQUIT') // PostgreSQL's "immediate shutdown": it writes nothing more.
    while (alive(database.pid)) await sleep(10)
    return {}
  },
  'POST /restart': async () => {
    database = await embeddedDatabase(folder)
    return {}
  },
}

/** Counts the acknowledged positions that are not in the table, and the rows of these phones in it. */
async function missing({ prefix, senders, numbers }: Acknowledged): Promise<{ missing: number; stored: number }> {
  const acknowledged = Buffer.from(numbers, 'base64')
  const senderOf = new Map(Array.from({ length: senders }, (_, sender) => [uuid(`${prefix}${FIRST + sender}`), sender]))
  const client = new pg.Client(database.url)
  await client.connect()
  const { rows } = await client.query<{ walker: string; turn: number }>(
    'SELECT walker, (seq - $2)::int AS turn FROM positions WHERE walker = ANY($1::uuid[])',
    [[...senderOf.keys()], FIRST],
  )
  await client.end()
  const stored = new Set(rows.map(({ walker, turn }) => turn * senders + senderOf.get(walker)!))
  let lost = 0
  for (let at = 0; at < acknowledged.length; at += 4) if (!stored.has(acknowledged.readUInt32LE(at))) lost++
  return { missing: lost, stored: stored.size }
}

function uuid(key: string): string {
  return hash('sha256', key, 'hex')
    .slice(0, 32)
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const server = http.createServer(async (request, response) => {
  const route = routes[`${request.method} ${request.url}`]
  try {
    const answer = route === undefined ? undefined : await route(await text(request))
    response.writeHead(route === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? {}))
  } catch (error) {
    response.writeHead(500).end(JSON.stringify({ error: String(error) }))
  }
})
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1')

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await database.stop()
    rmSync(folder, { recursive: true, force: true })
    process.exit(0)
  })
}
