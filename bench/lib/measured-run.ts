/** Simulates one scenario with one seed, and one limiter or none. */
import { shareOfIdeal } from '../../packages/meltproof/sim/figures.ts'
import { LIMITERS } from '../../packages/meltproof/sim/limiters/all.ts'
import { MIXED_HELD_OUT } from '../../packages/meltproof/sim/mixed-held-out.ts'
import type { Scenario } from '../../packages/meltproof/sim/scenarios.ts'
import { simulate } from '../../packages/meltproof/sim/service.ts'
import { THIRTY } from '../../packages/meltproof/sim/thirty.ts'
import { UNEVEN, UNEVEN_HELD_OUT } from '../../packages/meltproof/sim/uneven.ts'
import { SETS } from './admission-sets.ts'
import type { Measured } from './yardsticks.ts'

export const ALL_SETS = {
  ...SETS,
  thirty: THIRTY,
  uneven: UNEVEN,
  'uneven-held-out': UNEVEN_HELD_OUT,
  'mixed-held-out': MIXED_HELD_OUT,
} satisfies Readonly<Record<string, readonly Scenario[]>>

export type SetName = keyof typeof ALL_SETS

/** A service without admission. */
export const BARE = 'bare'

export function measure(scenario: Scenario, arm: string, seed: number): Measured {
  const { workload, seconds } = scenario
  const result = simulate(workload, { seconds, seed, limiter: arm === BARE ? undefined : LIMITERS[arm]! })
  const { offered, shed, late, inItsTime, mostInService, mostContending, mostLeft } = result
  return {
    good: shareOfIdeal(scenario, result),
    late: late / offered,
    shed: shed / offered,
    inItsTime: inItsTime / offered,
    mostInService,
    mostContending,
    mostLeft,
  }
}
