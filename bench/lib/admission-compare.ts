/** Every limit limiter in every scenario, in the same gate, with the same seeds; and how fast the simulator itself is. */
import { performance } from 'node:perf_hooks'
import { secondsToConverge, shareOfIdeal, shedShare, usualLimit } from '../../packages/meltproof/sim/figures.ts'
import { LIMITERS } from '../../packages/meltproof/sim/limiters/all.ts'
import { SCENARIOS, type Scenario, scenario } from '../../packages/meltproof/sim/scenarios.ts'
import { quantile, type SimResult, simulate } from '../../packages/meltproof/sim/service.ts'

export interface Cell {
  readonly scenario: string
  readonly limiter: string
  /** Capacity suffices: `falseShed` counts. Else `share` does. */
  readonly noShed: boolean
  /** Goodput as a share of the ideal; mean and worst of the seeds. */
  readonly share: number
  readonly worstShare: number
  /** Share of requests shed; mean and worst of the seeds. */
  readonly shed: number
  readonly worstShed: number
  /** Of those admitted, median of the seeds, ms. */
  readonly p99Ms: number
  /** Seconds after a change until goodput is back; worst of changes and seeds, null for never. */
  readonly convergeS: number | null
  /** The usual limit of the last tenth over that of the second; 1 is no drift. */
  readonly drift: number
  /** Requests in service or waiting 20 s after the last arrival: 0 unless the service is still digging itself out. */
  readonly leftOver: number
}

export interface Trace {
  readonly limiter: string
  /** Limit and goodput, second by second. */
  readonly limit: readonly number[]
  readonly good: readonly number[]
}

export interface Speed {
  readonly scenario: string
  /** Simulated seconds per real second, one core. */
  readonly secondsPerSecond: number
  readonly requestsPerSecond: number
}

export function compare(seeds: readonly number[], say: (text: string) => void): Cell[] {
  return SCENARIOS.flatMap(each => {
    say(each.name)
    const mine = each.seconds > 100 ? seeds.slice(0, 3) : seeds
    return Object.keys(LIMITERS).map(limiter => cell(each, limiter, mine))
  })
}

const run = (each: Scenario, limiter: string, seed: number): SimResult =>
  simulate(each.workload, { seconds: each.seconds, seed, limiter: LIMITERS[limiter] })

function cell(each: Scenario, limiter: string, seeds: readonly number[]): Cell {
  const results = seeds.map(seed => run(each, limiter, seed))
  const shares = results.map(result => shareOfIdeal(each, result))
  const sheds = results.map(shedShare)
  // 0 where nothing changes that there would be a way back from.
  const converge = Math.max(
    0,
    ...results.flatMap(result => each.changesAt.map(at => secondsToConverge(each, result, at))),
  )
  const tenth = Math.max(1, Math.floor(each.seconds / 10))
  const mean = (numbers: number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length
  const p99s = results.map(result => quantile(result.latencies, 0.99)).sort((a, b) => a - b)
  return {
    scenario: each.name,
    limiter,
    noShed: each.noShed,
    share: mean(shares),
    worstShare: Math.min(...shares),
    shed: mean(sheds),
    worstShed: Math.max(...sheds),
    p99Ms: p99s[p99s.length >> 1]!,
    convergeS: Number.isFinite(converge) ? converge : null,
    drift: mean(results.map(result => usualLimit(result, each.seconds - tenth) / usualLimit(result, tenth, 2 * tenth))),
    leftOver: Math.max(...results.map(result => result.inflightAtEnd + result.queuedAtEnd)),
  }
}

export function traces(name: string, limiters: readonly string[], seed: number): Trace[] {
  const each = scenario(name)
  return limiters.map(limiter => {
    const { seconds } = run(each, limiter, seed)
    return { limiter, limit: seconds.map(second => second.limit), good: seconds.map(second => second.good) }
  })
}

export function speed(): Speed[] {
  return ['1 request/s', 'cpu at 70 %', 'pool at 3x for ten minutes', 'cpu at 10x', 'cpu at 100x'].map(name => {
    const each = scenario(name)
    run(each, 'meltproof', 1)
    const from = performance.now()
    const result = run(each, 'meltproof', 2)
    const tookS = (performance.now() - from) / 1000
    return { scenario: name, secondsPerSecond: each.seconds / tookS, requestsPerSecond: result.offered / tookS }
  })
}
