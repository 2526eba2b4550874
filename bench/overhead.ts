/**
 * Measures the cost of protection when nothing is wrong: the server's own CPU per request, bare and protected, far
 * below capacity. One process has both (lib/bare-and-protected.ts), and the load alternates between them. The figure is
 * the median over rounds, each with its own process, of the median of the ratios of neighbouring turns.
 *
 *   node bench/overhead.ts [--rounds 5] [--seconds 30] [--only hello,clients,fresh] [--dry]
 *
 * docs/costs.md states the bars and whether they are met (lib/cost-sections.ts). The rates are at most half of the
 * capacity of a slow machine, because close to the capacity requests begin to wait for permits. Writes
 * bench/results/overhead.json, unless --dry; with --only, the other results in it stay.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadPlan, Phase } from '../packages/lab/src/load/plan.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import type { Stretch, Used } from './lib/bare-and-protected.ts'
import { conditions } from './lib/conditions.ts'
import { type MeasuredServer, median, plan, ratiosOfTurns, startServer } from './lib/measured-server.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '30' },
  only: { type: 'string' },
  dry: { type: 'boolean', default: false },
})
const rounds = options.whole('rounds')
const seconds = options.whole('seconds', 4)
const chosen = options.chosen('only', ['hello', 'clients', 'fresh'])
const where = conditions()
const script = join(import.meta.dirname, 'lib/bare-and-protected.ts')
/** Duration of one turn of an alternating load. */
const TURN_MS = 200
/** Requests to each server before the measurement, so that V8 has compiled its code. */
const WARM_UP_REQUESTS = 30_000

interface Workload {
  readonly id: 'hello' | 'clients' | 'fresh'
  readonly name: string
  readonly server: 'hello' | 'soon'
  readonly rate: number
  readonly connections: number | 'fresh'
}

export interface OverheadCase extends Omit<Workload, 'id'> {
  readonly bareUs: number
  readonly protectedUs: number
  readonly ratio: number
  /** Ratios of the single rounds. */
  readonly ratios: readonly number[]
}

const WORKLOADS: readonly Workload[] = [
  { id: 'hello', name: 'hello world', server: 'hello', rate: 4000, connections: 50 },
  {
    id: 'clients',
    name: 'an answer after 5 ms, 3,000 clients who connect every second',
    server: 'soon',
    rate: 2500,
    connections: 3000,
  },
  { id: 'fresh', name: 'hello world, a connection per request', server: 'hello', rate: 1000, connections: 'fresh' },
]

/** CPU per request during a turn, us. */
type TurnUs = Pick<Stretch, 'guarded' | 'us'>

/** Both loads run for the whole time and pause alternately. */
async function inTurns(servers: MeasuredServer, urls: readonly [string, string], load: Workload): Promise<TurnUs[]> {
  const on: Phase = { kind: 'constant', rate: load.rate, durationMs: TURN_MS }
  const off: Phase = { ...on, rate: 0 }
  const turns = Math.ceil((seconds * 1000) / (2 * TURN_MS))
  const phased = (url: string, ...phases: Phase[]): LoadPlan => ({
    ...plan(url, { ...load, seconds }),
    arrival: {
      kind: 'open',
      schedule: { phases: Array.from({ length: turns }, () => phases).flat(), spacing: 'poisson', seed: 1 },
    },
  })
  await servers.ask()
  await Promise.all([runLoad(phased(urls[0], on, off)), runLoad(phased(urls[1], off, on))])
  const stretches = await servers.ask<Stretch[]>()
  // Stretches with few requests are those in which the load began or ended.
  const full = stretches.filter(({ requests }) => requests > (load.rate * TURN_MS) / 2500)
  return full.map(({ guarded, us, requests }) => ({ guarded, us: us / requests }))
}

/** Runs one load after the other, each with new connections. Bare and protected alternate in going first. */
async function oneByOne(servers: MeasuredServer, urls: readonly [string, string], load: Workload): Promise<TurnUs[]> {
  const turns: TurnUs[] = []
  for (let i = 0; i < seconds / 2; i++) {
    for (const guarded of i % 2 === 0 ? [false, true] : [true, false]) {
      const before = await servers.ask<Used>('used')
      await runLoad(plan(urls[guarded ? 1 : 0], { ...load, seconds: 1 }))
      const after = await servers.ask<Used>('used')
      turns.push({ guarded, us: (after.us - before.us) / (after.requests - before.requests) })
    }
  }
  return turns
}

async function measureRound(load: Workload): Promise<readonly [bare: number, guarded: number, ratio: number]> {
  const servers = await startServer(script, [load.server])
  const urls = [servers.url, servers.urlOf('protectedPort')] as const
  for (const url of urls) await runLoad(plan(url, { ...load, seconds: Math.ceil(WARM_UP_REQUESTS / load.rate) }))
  const turns = await (load.connections === 3000 ? oneByOne : inTurns)(servers, urls, load)
  await servers.stop()
  const ratios = ratiosOfTurns(turns.map(({ guarded, us }) => ({ on: guarded, us })))
  const usOf = (wanted: boolean): number => median(turns.filter(turn => turn.guarded === wanted).map(({ us }) => us))
  return [usOf(false), usOf(true), median(ratios)]
}

const cases: OverheadCase[] = []
for (const { id, ...load } of WORKLOADS) {
  if (!chosen.includes(id)) continue
  const all: (readonly [number, number, number])[] = []
  for (let round = 0; round < rounds; round++) {
    const figures = await measureRound({ id, ...load })
    all.push(figures)
    console.log(`${load.name}, round ${round + 1}: ${figures.map(value => value.toFixed(3)).join(' us, ')}`)
  }
  const of = (at: 0 | 1 | 2): number => median(all.map(each => each[at]))
  cases.push({ ...load, bareUs: of(0), protectedUs: of(1), ratio: of(2), ratios: all.map(each => each[2]) })
}
if (!options.values.dry) {
  const file = join(import.meta.dirname, 'results/overhead.json')
  const before = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly OverheadCase[] }
  const all = WORKLOADS.flatMap(({ name }) => [...cases, ...before.cases].find(each => each.name === name) ?? [])
  writeFileSync(file, `${JSON.stringify({ ...where, rounds, seconds, cases: all }, null, 2)}\n`)
}
for (const { name, ratio } of cases) console.log(`${name}: ${ratio.toFixed(3)}`)
process.exit()
