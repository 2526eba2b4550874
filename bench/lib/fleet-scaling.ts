/** Simulates an autoscaler with fleets whose load triples. */
import { type ArmName, ARMS } from '../../packages/meltproof/sim/fleet/arms.ts'
import { METRICS, right, scaled } from '../../packages/meltproof/sim/fleet/scaling.ts'
import { AROUND_A_WAIT, CPU, POOL } from '../../packages/meltproof/sim/fleet/services.ts'

export interface FleetScaling {
  readonly service: string
  readonly arm: ArmName
  readonly metric: keyof typeof METRICS
  readonly right: number
  /** Counts of instances after each evaluation; the first is from before the load changes. */
  readonly counts: readonly number[]
}

const TIMES = 3
const BEHIND: readonly ArmName[] = ['round-robin', 'envoy', 'haproxy-least']

export function measuredScaling(seed: number, progress: (words: string) => void): FleetScaling[] {
  return [CPU, POOL, AROUND_A_WAIT].flatMap(service =>
    BEHIND.flatMap(arm =>
      (Object.keys(METRICS) as (keyof typeof METRICS)[]).map(metric => {
        progress(`autoscaler: ${service.name}: ${arm}: ${metric}`)
        const counts = scaled(service, ARMS[arm], metric, TIMES, seed)
        return { service: service.name, arm, metric, right: right(TIMES), counts }
      }),
    ),
  )
}
