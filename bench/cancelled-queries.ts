/**
 * What late queries cost a pool of pg that is asked for more than it can do: good answers, connections made, and
 * backends at work, per deadline.
 *
 *   node bench/cancelled-queries.ts [--deadlines 1000,700,300] [--arms loop,protect] [--rate 200] [--seconds 20]
 *                                   [--source packages/meltproof/src]
 *
 * A real PostgreSQL (from npm), a pool of 10, queries of 200 ms (so 50/s is all there is), asked for at --rate.
 * Arms: `loop` calls within(deadline, () => pool.query(...)) and nothing else; `protect` asks a server that is protected
 * with { deadlineMs }, over HTTP; `patient` is `loop` at exactly what the pool can do, without a deadline. --source
 * measures another version of the library beside this one.
 *
 * Bar: at least 90 % of the patient answers, at most 20 new connections.
 */
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { scriptOptions } from '../scripts/script-options.ts'
import { startPostgres } from './lib/postgres.ts'

const ARMS = ['patient', 'loop', 'protect'] as const
const CONNECTIONS = 10
const QUERY_MS = 200
/** Above any query that is still under way at the end. */
const REST_MS = 3000

const options = scriptOptions(import.meta.filename, {
  deadlines: { type: 'string', default: '1000,700,300' },
  arms: { type: 'string' },
  rate: { type: 'string', default: '200' },
  seconds: { type: 'string', default: '20' },
  source: { type: 'string', default: resolve(import.meta.dirname, '../packages/meltproof/src') },
})
const rate = options.whole('rate')
const seconds = options.whole('seconds')
const arms = options.chosen('arms', ARMS)
const deadlines = options.values.deadlines.split(',').map(Number)
const from = async <T>(file: string): Promise<T> =>
  (await import(pathToFileURL(resolve(options.values.source, file)).href)) as T
const { bound } = await from<typeof import('../packages/meltproof/src/databases/pg.ts')>('databases/pg.ts')
const { within } = await from<typeof import('../packages/meltproof/src/deadline/index.ts')>('deadline/index.ts')
const { protect } = await from<typeof import('../packages/meltproof/src/index.ts')>('index.ts')

interface Result {
  readonly good: number
  readonly outcomes: Record<string, number>
  readonly connections: number
  /** Most backends at work at once; those beyond the pool's size are abandoned queries. */
  readonly atWork: number
}

type Ask = () => Promise<string>

const postgres = await startPostgres()
const watcher = new pg.Client({ connectionString: postgres.url, application_name: 'watcher' })
await watcher.connect()
console.log('| arm | deadline | good | of patient | connections | at work | other outcomes |')
console.log('| --- | ---: | ---: | ---: | ---: | ---: | --- |')
try {
  const everything = ((CONNECTIONS * 1000) / QUERY_MS) * seconds
  for (const arm of arms) {
    for (const deadlineMs of arm === 'patient' ? [Number.POSITIVE_INFINITY] : deadlines) {
      const { good, outcomes, connections, atWork } = await measure(arm, deadlineMs)
      const others = Object.entries(outcomes).filter(([name]) => name !== 'good')
      console.log(
        `| ${arm} | ${deadlineMs} | ${good} | ${((100 * good) / everything).toFixed(0)} % | ${connections} | ${atWork} | ` +
          `${others.map(([name, count]) => `${name} ${count}`).join(', ')} |`,
      )
    }
  }
} finally {
  await watcher.end()
  await postgres.stop()
}
process.exit()

async function measure(arm: (typeof ARMS)[number], deadlineMs: number): Promise<Result> {
  const pool = new pg.Pool({ connectionString: postgres.url, max: CONNECTIONS })
  pool.on('error', () => {})
  let connections = 0
  pool.on('connect', () => connections++)
  bound(pool)
  const query = (): Promise<unknown> => pool.query(`select pg_sleep(${QUERY_MS / 1000})`)
  const close: (() => unknown)[] = [() => pool.end()]
  const outcomes: Record<string, number> = {}
  let atWork = 0
  const look = setInterval(async () => {
    atWork = Math.max(atWork, await backendsAtWork())
  }, 200)
  const ask: Ask =
    arm === 'protect' ? await overHttp(query, deadlineMs, close) : async () => plain(() => within(deadlineMs, query))
  const perSecond = arm === 'patient' ? (CONNECTIONS * 1000) / QUERY_MS : rate
  const startMs = performance.now()
  for (let i = 0; i < perSecond * seconds; i++) {
    const waitMs = startMs + (i * 1000) / perSecond - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    void ask().then(outcome => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    })
  }
  await sleep(REST_MS)
  clearInterval(look)
  for (const end of close) await end()
  return { good: outcomes['good'] ?? 0, outcomes, connections, atWork }
}

async function plain(call: () => Promise<unknown>): Promise<string> {
  try {
    await call()
    return 'good'
  } catch (error) {
    const { phase, code, message } = error as { phase?: string; code?: string; message: string }
    return phase ?? code ?? message
  }
}

async function overHttp(query: () => Promise<unknown>, deadlineMs: number, close: (() => unknown)[]): Promise<Ask> {
  const server = createServer(async (_request, response) => {
    try {
      await query()
      response.end('slept\n')
    } catch {
      response.statusCode = 500
      response.end('late\n')
    }
  })
  protect(server, { deadlineMs })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  close.unshift(() => {
    agent.destroy()
    server.close()
  })
  return () =>
    new Promise(settle => {
      const request = get({ port, host: '127.0.0.1', agent }, response => {
        response.resume()
        response.on('end', () => settle(response.statusCode === 200 ? 'good' : String(response.statusCode)))
      })
      request.on('error', error => settle((error as { code?: string }).code ?? error.message))
    })
}

async function backendsAtWork(): Promise<number> {
  const { rows } = await watcher.query(
    "select count(*)::int as n from pg_stat_activity where state = 'active' and application_name <> 'watcher' and backend_type = 'client backend'",
  )
  return rows[0].n
}
