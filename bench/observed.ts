/**
 * Measures the cost of observing: the server's own CPU per request on hello world, under protect() alone and with
 * metrics() added (timelines, verdicts, stalls, histograms), at one fixed rate. One process switches metrics() on and
 * off every second, and the last three fifths of each second count; the figure is the median of the ratios of
 * neighbouring turns. Then the same for sheds, with metrics() and accessLog() on. Then it measures an idle process:
 * without observers, with the heartbeat that detects stalls (`ledger`), and with metrics().
 *
 *   node bench/observed.ts [--seconds 300] [--rate 10000] [--idle-rounds 5]
 *
 * Bars: observing adds at most 2 % to the CPU of a hello-world request and of a shed, and the heartbeat takes at most
 * 0.5 % of a core. Writes bench/results/observed.json and docs/costs.md.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import type { Compared } from './lib/cost-sections.ts'
import { median, plan, ratiosOfTurns, startServer } from './lib/measured-server.ts'
import type { Turn } from './lib/observed-server.ts'
import { writeCosts } from './lib/write-costs.ts'

const TURN_MS = 1000
/** Start of a turn that does not count, ms: V8 compiles the code again that it had compiled for the other state. */
const SETTLE_MS = 400
/** The first turns are not counted, because V8 compiles the code of both states in them. */
const WARM_UP_TURNS = 6

const options = scriptOptions(import.meta.filename, {
  seconds: { type: 'string', default: '300' },
  rate: { type: 'string', default: '10000' },
  'idle-rounds': { type: 'string', default: '5' },
})
const seconds = options.whole('seconds', 10)
const rate = options.whole('rate', 100)
const idleRounds = options.whole('idle-rounds')
const where = conditions()
const script = join(import.meta.dirname, 'lib/observed-server.ts')

async function onAndOff(work: 'hello' | 'shed'): Promise<Compared> {
  const server = await startServer(script, ['turns', String(TURN_MS), String(SETTLE_MS), work])
  const offered = { rate, connections: 50 } as const
  await runLoad(plan(server.url, { ...offered, seconds: 3 }))
  await server.ask<Turn[]>()
  await runLoad(plan(server.url, { ...offered, seconds }))
  const turns = (await server.ask<Turn[]>()).slice(WARM_UP_TURNS, -1)
  await server.stop()
  // Turns with few requests are those in which the load began or ended.
  const full = turns.filter(({ requests }) => requests > (rate * (TURN_MS - SETTLE_MS)) / 2000)
  const each = full.map(({ on, requests, us }) => ({ on, us: us / requests }))
  const ratios = ratiosOfTurns(each)
  const ratio = median(ratios)
  const spread = Math.sqrt(ratios.reduce((sum, each) => sum + (each - ratio) ** 2, 0) / ratios.length)
  const usOf = (wanted: boolean): number => median(each.filter(({ on }) => on === wanted).map(({ us }) => us))
  // Each turn is in two ratios, so only half of the ratios are independent.
  const error = (1.25 * spread) / Math.sqrt(ratios.length / 2)
  return { offUs: usOf(false), onUs: usOf(true), ratio, error, pairs: ratios.length }
}

/** Share of a core that an idle process uses, over six seconds. */
async function idleShare(args: readonly string[]): Promise<number> {
  const server = await startServer(script, args)
  await sleep(1000)
  const before = await server.cpuUs()
  await sleep(6000)
  const used = (await server.cpuUs()) - before
  await server.stop()
  return used / 6e6
}
const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
/** Medians of alternating rounds. */
async function idleShares(): Promise<{ nothing: number; ledger: number; observed: number }> {
  const shares: Record<string, number[]> = { nothing: [], ledger: [], observed: [] }
  for (let round = 0; round < idleRounds; round++) {
    for (const [name, list] of Object.entries(shares)) list.push(await idleShare(['idle', name]))
  }
  const of = (name: string): number => median(shares[name]!)
  return { nothing: of('nothing'), ledger: of('ledger'), observed: of('observed') }
}

const percent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`
async function compare(work: 'hello' | 'shed'): Promise<Compared> {
  const compared = await onAndOff(work)
  const { offUs, onUs, ratio, error } = compared
  console.log(
    `${work}: ${offUs.toFixed(2)} us, observed ${onUs.toFixed(2)} us: ` +
      `${percent(ratio - 1)} more, give or take ${percent(error)} (bar: 2 %)`,
  )
  return compared
}
const compared = await compare('hello')
const shed = await compare('shed')
const idle = await idleShares()
console.log(`idle: ${percent(idle.ledger - idle.nothing, 2)} of a core for the ledger (bar: 0.5 %)`)
const result = { ...where, rate, seconds, turnMs: TURN_MS, ...compared, shed, idleRounds, idle }
writeFileSync(join(import.meta.dirname, 'results/observed.json'), `${JSON.stringify(result, null, 2)}\n`)
writeCosts()
process.exit()
