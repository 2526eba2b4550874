/**
 * The service into which bench/verdicts.ts injects faults: under protect(), with only the access log enabled. An
 * operation, `/op?via=CLIENT&port=P&path=/PATH&took=MS`, is one call to the dependency, at the host `name` if given.
 * The operation works for `compute` ms before the call, and waits for `wait` ms after it. `at` ms after the call began,
 * it stalls the loop for `block` ms. Each line of the log is sent to the parent.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { Pool, request as undiciRequest } from 'undici'
import { accessLog } from '../../packages/meltproof/src/logging/access-log.ts'
import { bound } from '../../packages/meltproof/src/databases/pg.ts'
import { protect } from '../../packages/meltproof/src/server/protect.ts'

/** Connections of each pool. */
const MOST = 2
const [, , database, acquireMs] = process.argv

const agents = {
  agent: new http.Agent({ keepAlive: true, maxSockets: MOST }),
  'agent-close': new http.Agent({ maxSockets: MOST }),
}
const origins = new Map<string, Pool>()
const postgres = database
  ? bound(new pg.Pool({ connectionString: database, max: MOST }), { acquireMs: Number(acquireMs) })
  : undefined

type Client = (origin: string, path: string, tookMs: number) => Promise<unknown>

const viaHttp =
  (agent?: http.Agent): Client =>
  (origin, path) =>
    new Promise((resolve, reject) => {
      http
        .get(origin + path, agent === undefined ? {} : { agent }, answer => answer.resume().on('end', resolve))
        .on('error', reject)
    })

const clients: Readonly<Record<string, Client>> = {
  fetch: (origin, path) => fetch(origin + path).then(answer => answer.text()),
  undici: (origin, path) => undiciRequest(origin + path).then(({ body }) => body.text()),
  http: viaHttp(),
  agent: viaHttp(agents.agent),
  'agent-close': viaHttp(agents['agent-close']),
  pool: (origin, path) => {
    const pool = origins.get(origin) ?? new Pool(origin, { connections: MOST })
    origins.set(origin, pool)
    return pool.request({ path, method: 'GET' }).then(({ body }) => body.text())
  },
  pg: (_, __, tookMs) => postgres!.query('select pg_sleep($1)', [tookMs / 1000]),
}

/** Sleeps instead of spinning, because other cases run at the same time. */
const asleep = new Int32Array(new SharedArrayBuffer(4))
const stall = (ms: number): void => void Atomics.wait(asleep, 0, 0, ms)
const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** Total lateness of the timers of this thread, ms. If no injected stall explains it, the machine was busy. */
let lateMs = 0
let dueAt = performance.now() + 5
setInterval(() => {
  lateMs += Math.max(0, performance.now() - dueAt - 5)
  dueAt = performance.now() + 5
}, 5).unref()

const server = http.createServer(async (request, response) => {
  const lateBeforeMs = lateMs
  response.on('close', () =>
    tell({ id: new URL(request.url!, 'http://us').searchParams.get('id'), lateMs: lateMs - lateBeforeMs }),
  )
  const { searchParams } = new URL(request.url!, 'http://us')
  const number = (name: string): number => Number(searchParams.get(name))
  if (searchParams.has('compute')) stall(number('compute'))
  if (searchParams.has('block')) setTimeout(stall, number('at'), number('block'))
  const tookMs = number('took')
  const claims = searchParams.has('claims') ? '&claims' : ''
  try {
    await clients[searchParams.get('via')!]!(
      `http://${searchParams.get('name') ?? '127.0.0.1'}:${number('port')}`,
      `${searchParams.get('path') ?? '/'}?took=${tookMs}${claims}`,
      tookMs,
    )
  } catch {
    response.statusCode = 502
  }
  if (searchParams.has('wait')) await sleep(number('wait'))
  response.end('done')
})
// The parent may have ended.
const tell = (message: object): unknown => process.send?.(message, undefined, undefined, () => {})
accessLog(protect(server), { sampleUnderPressure: 1, write: line => tell({ line: JSON.parse(line) }) })
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit())
