/**
 * Measures accept lanes: several sockets that listen on one port (packages/meltproof/src/server/connection/lanes.ts).
 *
 * Starvation: a server does one slice of work per turn of its event loop and receives more new connections than it can
 * serve. It queues some requests and sheds the rest at once. With one lane, it accepts one connection per turn; the
 * other connections wait in the kernel, where it cannot shed their requests. Three settings: slices of 1 ms at twice
 * the capacity, and slices of 5 ms at ten and at twenty times the capacity.
 *
 * Cost: the server's own CPU per request at a fixed rate far below its capacity, with fresh connections, with
 * keep-alive, and when idle.
 *
 * Latency counts from the scheduled time. The server and the load run on different cores where taskset exists. Loopback
 * only.
 *
 *   node bench/accept-lanes.ts [--rounds 3] [--seconds 3] [--lanes 1,4,8,16,32,64] [--only starvation|cost]
 */
import os from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../packages/lab/src/load/histogram.ts'
import type { LoadOutcome } from '../packages/lab/src/load/plan.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import type { LanesCount } from './lib/lanes-server.ts'
import { median, pinning, plan, startServer } from './lib/measured-server.ts'

const STARVATION = [
  { workMs: 1, rate: 2_000 },
  { workMs: 5, rate: 2_000 },
  { workMs: 5, rate: 4_000 },
]
/** Fresh connections and keep-alive requests per second of the cost table: below a quarter of the capacity. */
const FRESH_RATE = 1_000
const KEEP_ALIVE = { rate: 4_000, connections: 64 }
/** An answer later than this counts as no answer, ms. */
const TIMEOUT_MS = 2_000

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '3' },
  lanes: { type: 'string', default: '1,4,8,16,32,64' },
  only: { type: 'string' },
})
const rounds = options.whole('rounds')
const seconds = options.whole('seconds')
const parts = options.chosen('only', ['starvation', 'cost'])
const lanes = options.values.lanes.split(',').map(Number)

console.log(
  `accept lanes · ${new Date().toISOString().slice(0, 10)} · ${os.cpus()[0]?.model ?? '?'}, ${os.cpus().length} cores · ${conditions().commit}`,
)
console.log(`${os.type()} ${os.release()} · node ${process.version}, libuv ${process.versions.uv}`)
console.log(
  `medians of ${rounds} rounds of ${seconds} s, arms interleaved; ${pinning === undefined ? 'not pinned: no taskset' : 'server and load on different cores'}`,
)

for (const { workMs, rate } of parts.includes('starvation') ? STARVATION : []) {
  console.log(`\n${rate} new connections/s on a server that serves ${1_000 / workMs}/s in slices of ${workMs} ms`)
  await table(async count => {
    const { used, outcome } = await measure(count, workMs, { rate, connections: 'fresh' })
    const all = Histogram.merged([outcome.okLatency, outcome.shedLatency])
    return {
      'accepted/s': used.accepted / seconds,
      'ok within 1 s /s': outcome.good / seconds,
      'shed/s': outcome.shedLatency.count / seconds,
      'p50 ms': all.percentile(50),
      'p99 ms': all.percentile(99),
      'ok p50 ms': outcome.okLatency.percentile(50),
      'ok p99 ms': outcome.okLatency.percentile(99),
      'shed p99 ms': outcome.shedLatency.percentile(99),
      'no answer': outcome.scheduled - all.count,
    }
  })
}
if (parts.includes('cost')) {
  console.log(
    `\nCost: server CPU per request, ${FRESH_RATE}/s on fresh connections and ${KEEP_ALIVE.rate}/s on ${KEEP_ALIVE.connections} kept alive; idle for ${seconds} s`,
  )
  await table(async count => {
    const fresh = await measure(count, 0, { rate: FRESH_RATE, connections: 'fresh' })
    const kept = await measure(count, 0, KEEP_ALIVE)
    const idle = await measure(count, 0)
    return {
      'fresh us/request': fresh.used.cpuUs / fresh.outcome.okLatency.count,
      'fresh p50 ms': fresh.outcome.okLatency.percentile(50),
      'fresh p99 ms': fresh.outcome.okLatency.percentile(99),
      'keep-alive us/request': kept.used.cpuUs / kept.outcome.okLatency.count,
      'keep-alive p50 ms': kept.outcome.okLatency.percentile(50),
      'keep-alive p99 ms': kept.outcome.okLatency.percentile(99),
      'idle us/s': idle.used.cpuUs / seconds,
    }
  })
}
process.exit()

interface Load {
  readonly rate: number
  readonly connections: number | 'fresh'
}

/** Measures on a new server process. Without a load, the process idles for the same time. */
async function measure(count: number, workMs: number): Promise<{ used: LanesCount }>
async function measure(count: number, workMs: number, load: Load): Promise<{ used: LanesCount; outcome: LoadOutcome }>
async function measure(count: number, workMs: number, load?: Load) {
  const server = await startServer(join(import.meta.dirname, 'lib/lanes-server.ts'), [String(count), String(workMs)])
  if (load === undefined) await sleep(500)
  const before = await server.ask<LanesCount>()
  const outcome =
    load === undefined
      ? await sleep(seconds * 1_000)
      : await runLoad({ ...plan(server.url, { ...load, seconds }), timeoutMs: TIMEOUT_MS })
  const after = await server.ask<LanesCount>()
  await server.stop()
  return { outcome, used: { accepted: after.accepted - before.accepted, cpuUs: after.cpuUs - before.cpuUs } }
}

/** Runs every arm in every round and prints the median of each column. */
async function table(arm: (lanes: number) => Promise<Record<string, number>>): Promise<void> {
  const seen = new Map(lanes.map(count => [count, [] as Record<string, number>[]]))
  for (let round = 0; round < rounds; round++) for (const count of lanes) seen.get(count)!.push(await arm(count))
  const columns = Object.keys(seen.get(lanes[0]!)![0]!)
  console.log(['lanes', ...columns].join('  '))
  for (const [count, results] of seen) {
    const cells = columns.map(name => {
      const value = median(results.map(result => result[name]!))
      const text = Number.isNaN(value) ? '–' : value.toFixed(value >= 100 ? 0 : 1)
      return text.padStart(name.length)
    })
    console.log([String(count).padStart(5), ...cells].join('  '))
  }
}
