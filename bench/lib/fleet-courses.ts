/** Simulates fleets and records their figures second by second, for the pictures of docs/fleet.md. */
import { type ArmName, ARMS } from '../../packages/meltproof/sim/fleet/arms.ts'
import { DEVELOPMENT } from '../../packages/meltproof/sim/fleet/development.ts'
import { type Arm, simulateFleet } from '../../packages/meltproof/sim/fleet/fleet.ts'
import { figuresOf } from '../../packages/meltproof/sim/fleet/scenario.ts'

export interface FleetCourse {
  readonly scenario: string
  readonly changesAt: readonly number[]
  readonly arms: readonly {
    readonly name: string
    readonly good: number
    /** Requests per second: offered, answered in time, possible, and sent to the first and to the last member. */
    readonly offeredPerS: readonly number[]
    readonly goodPerS: readonly number[]
    readonly idealPerS: readonly number[]
    readonly toFirstPerS: readonly number[]
    readonly toLastPerS: readonly number[]
  }[]
}

export const SLOWER = 'one of four gets four times slower, a pool each'
export const STORM = 'a retry storm over three tiers'
/** Names that fit above a panel. */
export const SHORT: Readonly<Record<ArmName, string>> = {
  bare: 'round robin, bare',
  'round-robin': 'round robin',
  'least-connections': 'least connections',
  guessed: 'maxconn 16, bare',
  haproxy: 'HAProxy agent',
  'haproxy-least': 'HAProxy agent, least',
  envoy: 'Envoy reports',
}
export const TELL = 'tiers tell each other'
const ALL = Object.keys(ARMS) as ArmName[]

const SHOWN: readonly (readonly [scenario: string, arms: readonly Arm[]])[] = [
  [SLOWER, ALL.map(name => ({ ...ARMS[name], name: SHORT[name] }))],
  [
    STORM,
    [
      { ...ARMS.bare, name: 'bare' },
      { ...ARMS['round-robin'], name: 'meltproof' },
      { ...ARMS['round-robin'], name: TELL, chained: true },
    ],
  ],
]

export function measuredCourses(seed: number, progress: (words: string) => void): FleetCourse[] {
  return SHOWN.map(([scenario, arms]) => {
    const plan = DEVELOPMENT.find(({ name }) => name === scenario)
    if (plan === undefined) throw new Error(`no scenario is named '${scenario}'`)
    return {
      scenario,
      changesAt: plan.changesAt ?? [],
      arms: arms.map(arm => {
        progress(`picture: ${scenario}: ${arm.name}`)
        const run = simulateFleet(plan, arm, seed)
        const cameTo = (member: number): number[] => perSecond(run.came.map(tiers => tiers[0]!.at(member)!))
        const offered = run.seconds.map(second => second.offered)
        return {
          name: arm.name,
          good: Number(figuresOf(plan, run).good.toFixed(4)),
          offeredPerS: offered,
          goodPerS: run.seconds.map(second => second.good),
          idealPerS: offered.map((count, s) => Math.round(Math.min(count, plan.ideal(s)))),
          toFirstPerS: cameTo(0).slice(0, plan.seconds),
          toLastPerS: cameTo(-1).slice(0, plan.seconds),
        }
      }),
    }
  })
}

const perSecond = (sums: readonly number[]): number[] => sums.map((sum, s) => sum - (sums[s - 1] ?? 0))
