/** Sensitivity: one constant of the gate or the limiter at a time, over all short scenarios and several seeds. */
import { GATE_TUNING } from '../../packages/meltproof/src/admission/gate.ts'
import { ConcurrencyLimiter } from '../../packages/meltproof/src/admission/limiter/concurrency-limiter.ts'
import { LIMITER_TUNING } from '../../packages/meltproof/src/admission/limiter/tuning.ts'
import { shareOfIdeal, shedShare } from '../../packages/meltproof/sim/figures.ts'
import { SCENARIOS } from '../../packages/meltproof/sim/scenarios.ts'
import { quantile, simulate } from '../../packages/meltproof/sim/service.ts'

export interface Point {
  readonly value: number
  /** Worst and mean share of the ideal goodput over the scenarios with too little capacity. */
  readonly worst: number
  readonly mean: number
  /** Where the worst was. */
  readonly worstAt: string
  /** Worst share shed where capacity suffices. */
  readonly falseShed: number
  readonly falseShedAt: string
  /** Mean p99 of those admitted at ten times the capacity of a core and of a pool, ms. */
  readonly p99Ms: number
}

export interface Sweep {
  readonly of: 'gate' | 'limiter'
  readonly name: string
  readonly shipped: number
  readonly points: readonly Point[]
}

/** Longer scenarios are cut here; what changes in them changes before. */
const MOST_SECONDS = 35

const VALUES: Readonly<Record<'gate' | 'limiter', Readonly<Record<string, readonly number[]>>>> = {
  gate: {
    turnBudgetMs: [1, 3, 5, 10, 20, 40, 100],
    intervalMs: [25, 50, 100, 200, 400],
    targetMs: [5, 20, 50, 100, 200],
    drains: [0.05, 0.1, 0.2, 0.3, 0.4, 0.6],
    rememberMs: [1000, 4000, 10_000, 30_000],
    intervalsToStand: [1, 2, 3, 4, 5, 8],
    maxWaitMs: [100, 200, 400, 800, 1200, 2000],
    staleMs: [0, 20, 40, 80, 160, 320],
    staleDepartures: [1, 2, 4, 8, 16, 32],
    keptLonger: [1, 2, 3, 5, 10],
    freshGaps: [0, 0.125, 0.25, 0.5, 1],
    straggleMs: [100, 200, 300, 500, 1000],
    overtakenBy: [1.5, 2, 3, 4, 6],
    restsBelow: [0, 0.5, 0.7, 0.9, 1.1],
    mostStragglers: [0, 30, 100, 300, 1000],
  },
  limiter: {
    initial: [2, 4, 8, 16, 32, 64, 256],
    promiseMs: [250, 500, 1000, 2000],
    patienceMs: [100, 200, 400, 600],
    blindPerMs: [0, 0.1, 0.25, 0.5, 1],
    blindMs: [400, 800, 2000],
    workMs: [0, 25, 50, 100, 200],
    workElsewhereMs: [0, 25, 50, 100, 200, 400],
    samples: [6, 12, 24, 48, 96],
    maxWindowMs: [250, 500, 1000, 2000],
    fell: [0.7, 0.8, 0.85, 0.9, 0.95],
    lookEveryMs: [1000, 4000, 8000, 16_000, 60_000],
    probeMs: [100, 300, 1000, 10_000],
    forgetMs: [500, 1000, 2000, 5000, 20_000],
    haltMs: [100, 200, 400, 800],
    distrustMs: [0, 500, 2000, 8000],
    loopBusy: [0.7, 0.8, 0.9, 0.95, 1.1],
    busyWindowMs: [5, 10, 20, 40, 80],
    busyToLimit: [1, 2, 3, 5, 10],
    larger: [1.2, 1.35, 1.5, 1.75, 2],
    slower: [0.3, 0.4, 0.5, 0.6, 0.8],
    atMost: [1.1, 1.3, 1.6, 2.5],
    alike: [0.3, 0.5, 0.7, 10],
    clearly: [0, 1, 2, 4],
    least: [4, 8, 16, 32],
    ofThose: [0.1, 0.2, 0.33, 0.5, 1],
    missing: [1, 2, 3, 5, 100],
  },
}

export function sweepNames(): [of: 'gate' | 'limiter', name: string][] {
  return (['gate', 'limiter'] as const).flatMap(of =>
    Object.keys(VALUES[of]).map(name => [of, name] as ['gate' | 'limiter', string]),
  )
}

export function sweep(of: 'gate' | 'limiter', name: string, seeds: readonly number[]): Sweep {
  const shipped = (of === 'gate' ? GATE_TUNING : LIMITER_TUNING)[name as never] as number
  return { of, name, shipped, points: VALUES[of][name]!.map(value => point(of, name, value, seeds)) }
}

function point(of: 'gate' | 'limiter', name: string, value: number, seeds: readonly number[]): Point {
  const tuning = of === 'gate' ? { ...GATE_TUNING, [name]: value } : GATE_TUNING
  const limiter = of === 'limiter' ? { ...LIMITER_TUNING, [name]: value } : LIMITER_TUNING
  const shares: number[] = []
  let [worst, worstAt, falseShed, falseShedAt] = [Number.POSITIVE_INFINITY, '', 0, '']
  const p99s: number[] = []
  for (const each of SCENARIOS) {
    if (each.seconds > 100) continue
    for (const seed of seeds) {
      const result = simulate(each.workload, {
        seconds: Math.min(each.seconds, MOST_SECONDS),
        seed,
        tuning,
        limiter: busyMs => new ConcurrencyLimiter(busyMs, limiter),
      })
      if (each.noShed) {
        if (shedShare(result) > falseShed) [falseShed, falseShedAt] = [shedShare(result), each.name]
        continue
      }
      const share = shareOfIdeal(each, result, 1, result.seconds.length - 1)
      shares.push(share)
      if (share < worst) [worst, worstAt] = [share, each.name]
      if (each.name.endsWith(' at 10x') && /^(cpu|pool)/.test(each.name)) p99s.push(quantile(result.latencies, 0.99))
    }
  }
  const mean = (numbers: number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length
  return { value, worst, worstAt, mean: mean(shares), falseShed, falseShedAt, p99Ms: mean(p99s) }
}
