/**
 * Measures what a drain loses (packages/meltproof/src/server/operate/drain.ts): requests that were sent and not
 * answered while a server shuts down under load. Clients send their next request some time after each answer, on
 * keep-alive connections or each on a new one. `balanced`: they stop 100 ms after the drain began, like a balancer that
 * checks readiness at this interval. `direct`: they continue. `rate N`: N requests per second use standing connections
 * round robin, each about once a second, which shows what happens when the server closes an idle connection a second
 * after its last request. A refused connection is no loss, because the request can be sent elsewhere.
 *
 * Every drain has its own server process; the figures are sums over the rounds. Loopback only.
 *
 *   node bench/drain.ts [--rounds 10] [--clients 64] [--cases 'rate 160']
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { type ProtectOptions, protect } from '../packages/meltproof/src/index.ts'
import { scriptOptions } from '../scripts/script-options.ts'

interface Case {
  readonly name: string
  readonly options: ProtectOptions
  readonly fresh: boolean
  /** Clients continue for this long after the drain began, ms. */
  readonly goOnMs: number
  readonly load: ByUsers | ByRate
}

interface ByUsers {
  /** Time between an answer and the next request of the client, ms. */
  readonly thinkMs: number
}

interface ByRate {
  /** Requests per second, independent of the answers. */
  readonly rate: number
  readonly connections: number
}

const CASES: readonly Case[] = [
  ...[true, false].flatMap(fresh =>
    [undefined, 0].map(delayMs => ({
      name: `balanced, ${fresh ? 'new connections' : 'keep-alive'}, drainDelayMs ${delayMs ?? 'default'}`,
      options: delayMs === undefined ? {} : { drainDelayMs: delayMs },
      ...{ fresh, goOnMs: 100, load: { thinkMs: 10 } },
    })),
  ),
  ...[0, 10, 250, 1500].map(thinkMs => ({
    name: `direct, keep-alive, thinking for ${thinkMs} ms, drainDelayMs 0`,
    options: { drainDelayMs: 0 },
    ...{ fresh: false, goOnMs: 1000 + thinkMs, load: { thinkMs } },
  })),
  ...[160, 1000].map(rate => ({
    name: `direct, keep-alive, rate ${rate}/s, drainDelayMs 500`,
    options: { drainDelayMs: 500 },
    ...{ fresh: false, goOnMs: 2500, load: { rate, connections: Math.ceil(1.2 * rate) } },
  })),
]

/** Time that a request takes at the server, ms. */
const SERVICE_MS = 30
const WARM_UP_MS = 700
const DRAIN_MS = 6000

if (process.argv[2] === 'serve') serve(JSON.parse(process.argv[3]!))
else await main()

function serve(options: ProtectOptions): void {
  const server = http.createServer((_request, response) => setTimeout(() => response.end('ok'), SERVICE_MS))
  const guard = protect(server, options)
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
  process.once('message', async () => {
    const beganAt = performance.now()
    const clean = await guard.drain(DRAIN_MS)
    process.send!({ clean, ms: performance.now() - beganAt }, () => process.disconnect())
  })
}

async function main(): Promise<void> {
  const given = scriptOptions(import.meta.filename, {
    rounds: { type: 'string', default: '10' },
    clients: { type: 'string', default: '64' },
    cases: { type: 'string', default: '' },
  })
  const cases = CASES.filter(({ name }) => name.includes(given.values.cases))
  const rows: string[][] = []
  for (const each of cases) {
    const sums = { answered: 0, lost: 0, refused: 0, cut: 0, longestMs: 0 }
    for (let round = 0; round < given.whole('rounds'); round++) {
      const { clean, ms, answered, failed } = await oneDrain(each, given.whole('clients'))
      const { refused = 0, ...lost } = failed
      sums.answered += total(answered)
      sums.refused += refused
      sums.lost += total(lost)
      if (!clean) sums.cut++
      sums.longestMs = Math.max(sums.longestMs, Math.round(ms))
    }
    rows.push([each.name, ...Object.values(sums).map(String)])
  }
  console.log(markdownTable(['clients', 'answered', 'lost', 'refused', 'drains that cut', 'longest drain, ms'], rows))
}

async function oneDrain({ options, fresh, goOnMs, load: by }: Case, users: number) {
  const child = fork(import.meta.filename, ['serve', JSON.stringify(options)])
  const [port] = (await once(child, 'message')) as [number]
  const url = `http://127.0.0.1:${port}/`
  const durationMs = WARM_UP_MS + goOnMs
  const load = runLoad(
    planOf('rate' in by ? { url, durationMs, spacing: 'poisson', ...by } : { url, durationMs, users, fresh, ...by }),
  )
  await sleep(WARM_UP_MS)
  child.send('drain')
  const [drained] = (await once(child, 'message')) as [{ clean: boolean; ms: number }]
  const { answered, failed } = await load
  if (child.exitCode === null) await once(child, 'exit')
  return { ...drained, answered, failed }
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
