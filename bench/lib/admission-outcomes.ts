/** Runs every set of scenarios but the last one, which nobody may look at while tuning, and prints what became of each. */
import { COLD_STARTS } from '../../packages/meltproof/sim/cold-starts.ts'
import { DEVELOPMENT } from '../../packages/meltproof/sim/development.ts'
import { shareOfIdeal, shedShare } from '../../packages/meltproof/sim/figures.ts'
import { FRESH } from '../../packages/meltproof/sim/fresh.ts'
import { HELD_OUT } from '../../packages/meltproof/sim/held-out.ts'
import { LIMITERS } from '../../packages/meltproof/sim/limiters/all.ts'
import { SCENARIOS } from '../../packages/meltproof/sim/scenarios.ts'
import { simulate } from '../../packages/meltproof/sim/service.ts'
import { UNSEEN } from '../../packages/meltproof/sim/unseen.ts'

export interface Outcome {
  readonly set: string
  readonly name: string
  /** Goodput of the ideal, the mean of the seeds and 1 at the most; undefined where nobody must be shed. */
  readonly good?: number
  /** Share shed in the worst seed, where nobody must be. */
  readonly shed?: number
}

const sets = {
  tuned: SCENARIOS,
  cold: COLD_STARTS,
  development: DEVELOPMENT,
  'held-out': HELD_OUT,
  unseen: UNSEEN,
  fresh: FRESH,
}
/** What changes in longer ones changes in others too. */
const LONGEST_S = 300

const seeds = (process.argv[2] ?? '1').split(',').map(Number)
const outcomes = Object.entries(sets).flatMap(([set, scenarios]) =>
  scenarios
    .filter(({ seconds }) => seconds <= LONGEST_S)
    .map((each): Outcome => {
      const runs = seeds.map(seed =>
        simulate(each.workload, { seconds: each.seconds, seed, limiter: LIMITERS['meltproof']! }),
      )
      if (each.noShed) return { set, name: each.name, shed: Math.max(...runs.map(shedShare)) }
      const good = runs.reduce((sum, run) => sum + shareOfIdeal(each, run), 0) / runs.length
      return { set, name: each.name, good: Math.min(1, good) }
    }),
)
console.log(JSON.stringify(outcomes))
