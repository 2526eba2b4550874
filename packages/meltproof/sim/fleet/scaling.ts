/** A fleet whose autoscaler reads the load that members report, and adds or removes members. */
import { Autoscaler, TARGET } from '../autoscaler.ts'
import type { LoadFigures } from '../../src/process-gate.ts'
import { type Arm, type Fleet, type FleetPlan, simulateFleet } from './fleet.ts'
import { full, type Service } from './services.ts'

/** The metrics of the autoscaler. `load`: as in deploy/kubernetes/hpa.yaml. `CPU`: how busy the loops are. */
export const METRICS = {
  load: ({ utilisation, demand }) => utilisation * demand,
  CPU: ({ loop }) => loop,
} satisfies Readonly<Record<string, (figures: LoadFigures) => number>>

const FIRST = 6
const EVERY_MS = 15_000
const GROWS_MS = 20_000
const STARTS_MS = 5000
const DRAINS_MS = 5000

/** Returns the wanted number of members after each evaluation. After the first, the load is `times` as high. */
export function scaled(
  service: Service,
  arm: Arm,
  metric: keyof typeof METRICS,
  times: number,
  seed: number,
  evaluations = 3,
): number[] {
  const rate = FIRST * TARGET * service.capacity
  const counts: number[] = []
  const autoscaler = new Autoscaler()
  const plan: FleetPlan = {
    seconds: (EVERY_MS * (evaluations + 1)) / 1000 + 1,
    rate: nowMs => (nowMs < GROWS_MS ? 1 : times) * rate,
    tiers: [{ members: Array.from({ length: FIRST }, () => service.at(full)) }],
    events: fleet => fleet.clock.every(EVERY_MS, EVERY_MS, () => void counts.push(evaluate(fleet))),
  }
  const evaluate = ({ clock, members, tiers: [tier] }: Fleet): number => {
    const loads = members.flatMap(({ instance }) => {
      const figures = instance?.loadFigures(clock.nowMs)
      return figures === undefined ? [] : [METRICS[metric](figures)]
    })
    const wants = autoscaler.evaluate(members.length, loads.reduce((sum, load) => sum + load, 0) / loads.length)
    while (members.length < wants) tier!.grow(STARTS_MS)
    while (members.length > wants) tier!.shrink(DRAINS_MS)
    return wants
  }
  simulateFleet(plan, arm, seed)
  return counts
}

/** The number of members that the changed load needs. */
export const right = (times: number): number => FIRST * times
