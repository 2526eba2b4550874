/**
 * The server of bench/evidence.ts, in its own process: `node evidence-server.ts OPTIONS`, JSON of EvidenceServer. The
 * field `x-work`, which admission does not read, states the work of a request: "wait 5000", "burn 2", "steps 5" (of 1
 * ms of CPU, each in another turn), "pool 100", "threads 30000", "refuse 401", or nothing. The server reads the body to
 * its end before it works. It sends its port. It answers `figures` with the maximum of handlers at work and the CPU
 * used, and `{ perSecond }` with the number of rounds of PBKDF2 at which the thread pool does this many hashes per
 * second.
 */
import { pbkdf2 } from 'node:crypto'
import http, { type RequestListener } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import type { protect as Protect } from '../../packages/meltproof/src/index.ts'

export interface EvidenceServer {
  readonly http2: boolean
  /** The runtime to load; undefined for bare. */
  readonly meltproof: string | undefined
  /** Connections of the pool. */
  readonly pool: number
  /** Other work keeps the event loop busy all the time, in pieces of this length, ms. 0 means none. */
  readonly otherWorkMs: number
  /** The other work starts this long after the server, ms. */
  readonly otherWorkFromMs: number
}

export interface EvidenceFigures {
  /** Maximum number of handlers at work at the same time. */
  readonly most: number
  /** CPU of the process since it began, ms. */
  readonly cpuMs: number
}

export type EvidenceAsk = 'figures' | { readonly perSecond: number }

/** Jobs of a calibration, and the rounds of PBKDF2 of each. */
const CALIBRATION = { jobs: 40, rounds: 20_000 }

const { http2: asHttp2, meltproof, pool, otherWorkMs, otherWorkFromMs } = JSON.parse(process.argv[2]!) as EvidenceServer
const derive = promisify(pbkdf2)
const hash = (rounds: number): Promise<unknown> => derive('secret', 'salt', rounds, 32, 'sha256')
const nextTurn = (): Promise<void> => new Promise(resolve => void setImmediate(resolve))
const later = (ms: number): Promise<void> => new Promise(resolve => void setTimeout(resolve, ms))

let free = pool
const waiting: (() => void)[] = []
async function pooled(ms: number): Promise<void> {
  if (free > 0) free--
  else await new Promise<void>(resolve => void waiting.push(resolve))
  await later(ms)
  const next = waiting.shift()
  if (next === undefined) free++
  else next()
}

function burn(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

function workElsewhere(): void {
  burn(otherWorkMs)
  setImmediate(workElsewhere)
}

async function work(what: string, amount: number): Promise<number> {
  if (what === 'wait') await later(amount)
  else if (what === 'burn') burn(amount)
  else if (what === 'steps') for (let step = 0; step < amount; step++) await nextTurn().then(() => burn(1))
  else if (what === 'pool') await pooled(amount)
  else if (what === 'threads') await hash(amount)
  else if (what === 'refuse') return amount
  return 200
}

let working = 0
let most = 0
const listener: RequestListener = async (request, response) => {
  most = Math.max(most, ++working)
  try {
    if (request.method === 'POST') for await (const _ of request);
    const [what = '', amount = '0'] = String(request.headers['x-work'] ?? '').split(' ')
    response.statusCode = await work(what, Number(amount))
    response.end('done\n')
  } catch {
    response.destroy()
  } finally {
    working--
  }
}

const server = asHttp2 ? http2.createServer(listener as never) : http.createServer(listener)
if (meltproof !== undefined) {
  const { protect } = (await import(meltproof)) as { protect: typeof Protect }
  protect(server)
}
process.on('message', (ask: EvidenceAsk) => {
  if (ask === 'figures') {
    const { user, system } = process.cpuUsage()
    process.send!({ most, cpuMs: (user + system) / 1000 } satisfies EvidenceFigures)
    most = working
  } else void calibrate(ask.perSecond).then(rounds => process.send!(rounds))
})
if (otherWorkMs > 0) setTimeout(workElsewhere, otherWorkFromMs)
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', 4096, () => process.send!((server.address() as AddressInfo).port))

async function calibrate(perSecond: number): Promise<number> {
  const { jobs, rounds } = CALIBRATION
  await hash(rounds)
  const from = performance.now()
  await Promise.all(Array.from({ length: jobs }, () => hash(rounds)))
  const does = (jobs * 1000) / (performance.now() - from)
  return Math.round((rounds * does) / perSecond)
}
