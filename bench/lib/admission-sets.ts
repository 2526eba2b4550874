/** The sets of scenarios that may be used for tuning, and the figures of a limiter for a scenario and for a set. */
import { COLD_STARTS } from '../../packages/meltproof/sim/cold-starts.ts'
import { DEVELOPMENT } from '../../packages/meltproof/sim/development.ts'
import { shareOfIdeal, shedShare } from '../../packages/meltproof/sim/figures.ts'
import { FRESH } from '../../packages/meltproof/sim/fresh.ts'
import { HELD_OUT } from '../../packages/meltproof/sim/held-out.ts'
import { LIMITERS } from '../../packages/meltproof/sim/limiters/all.ts'
import { MIXED } from '../../packages/meltproof/sim/mixed.ts'
import { SCENARIOS, type Scenario } from '../../packages/meltproof/sim/scenarios.ts'
import { simulate } from '../../packages/meltproof/sim/service.ts'
import { UNSEEN } from '../../packages/meltproof/sim/unseen.ts'

export const SETS = {
  tuned: SCENARIOS,
  cold: COLD_STARTS,
  development: DEVELOPMENT,
  'held-out': HELD_OUT,
  unseen: UNSEEN,
  fresh: FRESH,
  mixed: MIXED,
}

/** The set for the final judgement. No limiter is changed for one of its scenarios, so it does not run while tuning. */
export const FINAL = 'mixed-held-out'

/** A scenario sheds falsely above this share. */
const FALSE_SHEDS = 0.002
/** A scenario does badly below this share of the ideal. */
const POOR = 0.75

export interface Outcome {
  readonly name: string
  /** Capacity suffices. */
  readonly noShed: boolean
  /** Goodput as a share of the ideal: the mean of the seeds, 1 at most. */
  readonly good: number
  /** Share shed in the worst seed. */
  readonly shed: number
  /** Share answered late, the mean of the seeds. */
  readonly late: number
}

export function outcomeOf(scenario: Scenario, limiter: string, seeds: readonly number[]): Outcome {
  const { name, noShed, seconds, workload } = scenario
  const runs = seeds.map(seed => simulate(workload, { seconds, seed, limiter: LIMITERS[limiter]! }))
  const good = meanOf(runs.map(run => shareOfIdeal(scenario, run)))
  const late = meanOf(runs.map(run => run.late / run.offered))
  return { name, noShed, good: Math.min(1, good), shed: Math.max(...runs.map(shedShare)), late }
}

export interface SetSummary {
  /** Scenarios with too little capacity, and with enough. */
  readonly overloaded: number
  readonly ample: number
  /** Goodput as a share of the ideal where capacity is too small: the mean, and the worst scenario. */
  readonly mean: number
  readonly worst: Outcome | undefined
  /** Scenarios that do badly. */
  readonly below: number
  /** Scenarios that shed where no request may be shed. */
  readonly falseSheds: number
  /** Mean share shed where no request may be shed. */
  readonly shed: number
  /** Mean share of late answers. */
  readonly late: number
}

export function figuresOf(outcomes: readonly Outcome[]): SetSummary {
  const overloaded = outcomes.filter(each => !each.noShed).sort((a, b) => a.good - b.good)
  const ample = outcomes.filter(each => each.noShed)
  return {
    overloaded: overloaded.length,
    ample: ample.length,
    mean: overloaded.length === 0 ? 1 : meanOf(overloaded.map(({ good }) => good)),
    worst: overloaded[0],
    below: overloaded.filter(({ good }) => good < POOR).length,
    falseSheds: ample.filter(({ shed }) => shed > FALSE_SHEDS).length,
    shed: meanOf(ample.map(({ shed }) => shed)),
    late: meanOf(outcomes.map(({ late }) => late)),
  }
}

/** 0 without values. */
function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}
