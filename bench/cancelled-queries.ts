/**
 * Measures what late queries cost a pool of pg that gets more queries than it can serve: for each deadline, the good
 * answers, the new connections, and the maximum of PostgreSQL backends that run a query at the same time.
 *
 *   node bench/cancelled-queries.ts [--deadlines 1000,700,300] [--arms within,protect] [--rate 200] [--seconds 20]
 *                                   [--source packages/meltproof/src]
 *
 * A real PostgreSQL (from npm), a pool of 10 and queries of 200 ms, so the capacity is 50/s. HTTP requests arrive at
 * --rate per second, and each makes one query. Arms: `within` only wraps the query in within(deadline, ...); `protect`
 * is a server under protect() with { deadlineMs }; `patient` is `within` at exactly the capacity of the pool, without a
 * deadline. --source measures another version of the library.
 *
 * Bar: at least 90 % of the capacity in good answers, at most 20 new connections.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import type { LoadOutcome } from '../packages/lab/src/load/plan.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { startPostgres } from './lib/postgres.ts'

const ARMS = ['patient', 'within', 'protect'] as const
const CONNECTIONS = 10
const QUERY_MS = 200

const options = scriptOptions(import.meta.filename, {
  deadlines: { type: 'string', default: '1000,700,300' },
  arms: { type: 'string' },
  rate: { type: 'string', default: '200' },
  seconds: { type: 'string', default: '20' },
  source: { type: 'string', default: resolve(import.meta.dirname, '../packages/meltproof/src') },
})
const seconds = options.whole('seconds')
const deadlines = options.values.deadlines.split(',').map(Number)
const from = async <T>(file: string): Promise<T> =>
  (await import(pathToFileURL(resolve(options.values.source, file)).href)) as T
const { bound } = await from<typeof import('../packages/meltproof/src/databases/pg.ts')>('databases/pg.ts')
const { within } = await from<typeof import('../packages/meltproof/src/deadline/index.ts')>('deadline/index.ts')
const { protect } = await from<typeof import('../packages/meltproof/src/index.ts')>('index.ts')

const postgres = await startPostgres()
const watcher = new pg.Client({ connectionString: postgres.url, application_name: 'watcher' })
await watcher.connect()
console.log('| arm | deadline | good | of capacity | connections | at work | answers and failures |')
console.log('| --- | ---: | ---: | ---: | ---: | ---: | --- |')
try {
  const everything = ((CONNECTIONS * 1000) / QUERY_MS) * seconds
  for (const arm of options.chosen('arms', ARMS)) {
    for (const deadlineMs of arm === 'patient' ? [Number.POSITIVE_INFINITY] : deadlines) {
      const { outcome, connections, atWork } = await measure(arm, deadlineMs)
      const { good, answered, failed } = outcome
      const counts = Object.entries({ ...answered, ...failed }).map(([name, count]) => `${name}: ${count}`)
      const share = `${((100 * good) / everything).toFixed(0)} %`
      console.log(`| ${[arm, deadlineMs, good, share, connections, atWork, counts.join(', ')].join(' | ')} |`)
    }
  }
} finally {
  await watcher.end()
  await postgres.stop()
}
process.exit()

async function measure(
  arm: (typeof ARMS)[number],
  deadlineMs: number,
): Promise<{ outcome: LoadOutcome; connections: number; atWork: number }> {
  const pool = new pg.Pool({ connectionString: postgres.url, max: CONNECTIONS })
  let connections = 0
  pool.on('error', () => {}).on('connect', () => connections++)
  bound(pool)
  const query = (): Promise<unknown> => pool.query(`select pg_sleep(${QUERY_MS / 1000})`)
  const server = createServer((_, response) => {
    const work = arm === 'protect' ? query() : within(deadlineMs, query)
    work.then(
      () => response.end('slept\n'),
      () => response.writeHead(500).end('late\n'),
    )
  })
  if (arm === 'protect') protect(server, { deadlineMs })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  let atWork = 0
  const look = setInterval(async () => {
    atWork = Math.max(atWork, await backendsAtWork())
  }, 200)
  const rate = arm === 'patient' ? (CONNECTIONS * 1000) / QUERY_MS : options.whole('rate')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const outcome = await runLoad(planOf({ url, rate, durationMs: seconds * 1000, sloMs: 60_000 }))
  clearInterval(look)
  server.close()
  server.closeAllConnections()
  await pool.end()
  return { outcome, connections, atWork }
}

async function backendsAtWork(): Promise<number> {
  const { rows } = await watcher.query(
    "select count(*)::int as n from pg_stat_activity where state = 'active' and application_name <> 'watcher' and backend_type = 'client backend'",
  )
  return rows[0].n
}
