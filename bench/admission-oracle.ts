/**
 * Can an oracle do better than the ideals of the mixed scenarios (sim/mixed.ts)? If so, the ideals are too low. The
 * oracle sees which handlers contend (wait for the core, a connection or a lock). It admits a request while fewer than
 * n handlers contend and the request has waited less than 10 n ms for the loop; n is the best value for the scenario.
 * No real limiter can see which handlers contend. Like a real one, the oracle cannot tell operations apart. The script
 * runs in virtual time and takes some minutes.
 *
 *   node bench/admission-oracle.ts [--set mixed,mixed-held-out] [--seeds 1]
 *
 * For each scenario it prints the bare service, the best oracle whose late answers are at most 3 % of the offered
 * requests, and the best oracle of all.
 */
import type { Census } from '../packages/meltproof/sim/census.ts'
import { shareOfIdeal } from '../packages/meltproof/sim/figures.ts'
import { MIXED } from '../packages/meltproof/sim/mixed.ts'
import { MIXED_HELD_OUT } from '../packages/meltproof/sim/mixed-held-out.ts'
import type { Scenario } from '../packages/meltproof/sim/scenarios.ts'
import { simulate } from '../packages/meltproof/sim/service.ts'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { scriptOptions } from '../scripts/script-options.ts'

const SETS = { mixed: MIXED, 'mixed-held-out': MIXED_HELD_OUT }
const LIMITS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
const WAIT_MS = 10
const LATE = 0.03

const options = scriptOptions(import.meta.filename, {
  set: { type: 'string' },
  seeds: { type: 'string', default: '1' },
})
const seeds = options.values.seeds.split(',').map(Number)

interface Tried {
  readonly n: number
  readonly good: number
  readonly late: number
  readonly shed: number
}

function tryOne(scenario: Scenario, n: number): Tried {
  const { workload, seconds } = scenario
  const door =
    n === Number.POSITIVE_INFINITY
      ? undefined
      : ({ contending }: Census, waitedMs: number): boolean => contending < n && waitedMs < WAIT_MS * n
  const runs = seeds.map(seed => simulate(workload, { seconds, seed, limiter: undefined, door }))
  const mean = (of: (run: (typeof runs)[number]) => number): number =>
    runs.reduce((sum, run) => sum + of(run), 0) / runs.length
  return {
    n,
    good: mean(run => shareOfIdeal(scenario, run)),
    late: mean(run => run.late / run.offered),
    shed: mean(run => run.shed / run.offered),
  }
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const told = (each: Tried | undefined): string[] =>
  each === undefined ? ['-', '-', '-'] : [String(each.n), percent(each.good), percent(each.late)]
const best = (all: readonly Tried[]): Tried | undefined => [...all].sort((a, b) => b.good - a.good)[0]

const rows = options
  .chosen('set', Object.keys(SETS) as (keyof typeof SETS)[])
  .flatMap(set => SETS[set])
  .map(scenario => {
    const bare = tryOne(scenario, Number.POSITIVE_INFINITY)
    const tried = scenario.noShed ? [] : [...LIMITS.map(n => tryOne(scenario, n)), bare]
    return [
      scenario.name,
      scenario.noShed ? 'enough' : 'scarce',
      percent(bare.good),
      percent(bare.late),
      ...told(best(tried.filter(({ late }) => late <= LATE))),
      ...told(best(tried)),
    ]
  })
console.log(
  markdownTable(
    [
      'scenario',
      'capacity',
      'bare',
      'late',
      'best n',
      'of the ideal',
      'late',
      'best n at any lateness',
      'of the ideal',
      'late',
    ],
    rows,
  ),
)
