/**
 * The database of `meltlab run tide`: a PostgreSQL in a temporary folder, and an independent look into it. Listens on
 * PORT; knows nothing of the service but its tables and how a walker's id comes from a phone's key.
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
chmodSync(folder, 0o755) // PostgreSQL runs as a user of its own where the lab runs as root
let database = await embeddedDatabase(folder)

interface Acknowledged {
  /** Phones' keys are this and a number of ten digits, `firstSender` and up. */
  readonly prefix: string
  readonly senders: number
  /** Of each request that was acknowledged: its number, as 32-bit words in base64. Its count is `firstTurn` and up. */
  readonly numbers: string
}
const FIRST = 1_000_000_000

const routes: Readonly<Record<string, (body: string) => Promise<unknown>>> = {
  'GET /url': async () => ({ url: database.url }),
  'POST /missing': async body => missing(JSON.parse(body)),
  'POST /crash': async () => {
    process.kill(database.pid, 'SIGQUIT') // PostgreSQL's "immediate shutdown": nothing is finished or written
    while (alive(database.pid)) await sleep(10)
    return {}
  },
  'POST /restart': async () => {
    database = await embeddedDatabase(folder)
    return {}
  },
}

/** How many of the acknowledged positions are not in the table, and how many rows these phones have there. */
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
