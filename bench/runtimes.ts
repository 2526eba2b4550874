/**
 * Compares the goodput under overload of several builds of the runtime: a service with 5 ms of CPU per request, cold,
 * with alternating builds. A build is a directory with an `index.ts` or `index.js`. To judge a part, compare with a
 * copy of `src` that lacks it.
 *
 *   node bench/runtimes.ts --into FILE --runtimes now=packages/meltproof/src,without=/tmp/without/src
 *     [--loads 10,100] [--connections standing,fresh] [--method GET] [--rounds 1] [--seconds 5]
 *
 * FILE stores every round, so that a long comparison can run in parts. The table has the medians of all rounds in it,
 * and `--rounds 0` only prints the table.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { calibrateSpin, spinVariable } from '../packages/lab/src/launch/machine.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { offer } from '../packages/lab/src/melt/load-plans.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { type Conditions, conditions } from './lib/conditions.ts'
import { median, pinning, plan, startServer } from './lib/measured-server.ts'

const options = scriptOptions(import.meta.filename, {
  into: { type: 'string' },
  runtimes: { type: 'string' },
  loads: { type: 'string', default: '10,100' },
  connections: { type: 'string' },
  method: { type: 'string', default: 'GET' },
  rounds: { type: 'string', default: '1' },
  seconds: { type: 'string', default: '5' },
})
const file = options.values.into ?? options.refuse('--into FILE is missing')
const seconds = options.whole('seconds')
const loads = options.values.loads.split(',').map(Number)
const { method } = options.values
const modes = options.chosen('connections', ['standing', 'fresh'])
const runtimes = (options.values.runtimes ?? options.refuse('--runtimes NAME=DIRECTORY,... is missing'))
  .split(',')
  .map(each => {
    const [name = '', path = ''] = each.split('=')
    const index = ['index.ts', 'index.js'].map(base => resolve(path, base)).find(existsSync)
    return { name, url: index === undefined ? options.refuse(`no index in '${path}'`) : pathToFileURL(index).href }
  })

/** Values that all rounds of a file share. */
interface Machine extends Partial<Conditions> {
  readonly spinPerMs: number
  /** Capacity of the bare service, requests per second. */
  readonly capacity: number
}

interface Round {
  readonly name: string
  readonly method: string
  readonly mode: 'standing' | 'fresh'
  readonly load: number
  /** As a share of the capacity. */
  readonly goodput: number
  readonly shedPerSecond: number
  /** Latency of admitted requests, and of sheds, ms. */
  readonly admittedP99: number
  readonly shedP99: number
  /** Share of the requests that got no answer, or a shed after more than a second. */
  readonly unanswered: number
  readonly certified: boolean
}

const script = join(import.meta.dirname, 'lib/runtime-server.mjs')

async function withServer<T>(url: string, use: (url: string) => Promise<T>): Promise<T> {
  const server = await startServer(script, [url], ['--no-warnings'])
  try {
    return await use(server.url)
  } finally {
    await server.stop()
  }
}

async function measureMachine(): Promise<Machine> {
  const spinPerMs = await calibrateSpin(pinning?.server)
  process.env[spinVariable] = String(spinPerMs)
  const closed = { kind: 'closed', users: 4, durationMs: 3000, thinkMs: 0 } as const
  const capacity = await withServer('bare', async url => {
    const { good } = await runLoad({ ...plan(url, { rate: 1, seconds: 1, connections: 4 }), arrival: closed })
    return good / 3
  })
  return { spinPerMs, capacity }
}

async function measure(
  runtime: { name: string; url: string },
  mode: Round['mode'],
  load: number,
  { capacity }: Machine,
): Promise<Round> {
  const target = {
    method,
    headers: {},
    body: method === 'POST' ? 'a small body' : undefined,
    timeoutMs: 3000,
    sloMs: 1000,
    fresh: mode === 'fresh',
    connections: 1500,
    spacing: 'poisson',
  } as const
  return withServer(runtime.url, async url => {
    const { connections, ...asked } = offer({ ...target, url }, load * capacity, seconds * 1000)
    const crowd = connections.kind === 'fresh' ? connections : { ...connections, newestFirst: true as const }
    const outcome = await runLoad({ ...asked, connections: crowd })
    const { good, scheduled, answered, okLatency, shedLatency, certified } = outcome
    const lateSheds = shedLatency.count * (1 - shedLatency.shareWithin(1000))
    const answers = Object.values(answered).reduce((sum, each) => sum + each, 0)
    return {
      name: runtime.name,
      method,
      mode,
      load,
      goodput: good / seconds / capacity,
      shedPerSecond: (answered['503'] ?? 0) / seconds,
      admittedP99: okLatency.percentile(99),
      shedP99: shedLatency.percentile(99),
      unanswered: (scheduled - answers + lateSheds) / scheduled,
      certified,
    }
  })
}

const known = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
const machine = known[0] === undefined ? await measureMachine() : (JSON.parse(known[0]) as Machine)
process.env[spinVariable] = String(machine.spinPerMs)
if (known[0] === undefined) appendFileSync(file, `${JSON.stringify({ ...conditions(), ...machine })}\n`)
const rounds = known.slice(1).map(line => JSON.parse(line) as Round)
for (let round = 0; round < options.whole('rounds', 0); round++) {
  for (const mode of modes) {
    for (const load of loads) {
      for (const runtime of runtimes) {
        const measured = await measure(runtime, mode, load, machine)
        rounds.push(measured)
        appendFileSync(file, `${JSON.stringify(measured)}\n`)
      }
    }
  }
}

const { date, node, cpu, kernel, capacity } = { ...conditions(), ...machine }
console.log(
  `${date}, Node ${node}, ${cpu}, Linux ${kernel}; capacity ${capacity.toFixed(0)}/s; medians, rounds in brackets\n`,
)
const COLUMNS = [6, 9, 5, 12, 22, 8, 14, 20]
const row = (...cells: string[]): void =>
  console.log(
    cells
      .map((cell, i) => cell.padEnd(COLUMNS[i]!))
      .join(' ')
      .trimEnd(),
  )
row('asked', 'over', 'load', 'runtime', 'goodput of capacity', 'shed/s', 'admitted p99', 'unanswered in 1 s')
for (const [cell, inCell] of Map.groupBy(rounds, each => `${each.method} ${each.mode} ${each.load}x`)) {
  for (const [name, all] of Map.groupBy(inCell, each => each.name)) {
    const of = (value: (round: Round) => number): number => median(all.map(value))
    const percent = (share: number): string => (100 * share).toFixed(0)
    row(
      ...cell.split(' '),
      name,
      `${percent(of(each => each.goodput))} % (${all.map(each => percent(each.goodput)).join(' ')})`,
      of(each => each.shedPerSecond).toFixed(0),
      `${of(each => each.admittedP99).toFixed(0)} ms`,
      `${percent(of(each => each.unanswered))} %${all.every(each => each.certified) ? '' : ', load late'}`,
    )
  }
}
process.exit()
