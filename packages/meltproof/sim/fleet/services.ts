/** What the members of simulated fleets do. Each can be slower than it should be, for a time or for good. */
import { sharedCore } from '../core.ts'
import { PARSE } from '../scenario-parts.ts'
import { cpu5 } from '../scenarios.ts'
import type { Step, Workload } from '../workload.ts'

/** What of its usual speed is left at a time. */
export type Speed = (nowMs: number) => number
export const full: Speed = () => 1
export const constant =
  (speed: number): Speed =>
  () =>
    speed
/** Four times slower, say, from one time to another, s. */
export const between =
  (speed: number, fromS: number, toS: number = Number.POSITIVE_INFINITY): Speed =>
  nowMs =>
    nowMs >= fromS * 1000 && nowMs < toS * 1000 ? speed : 1

export interface Service {
  readonly name: string
  /** Requests a second of one member at full speed. */
  readonly capacity: number
  readonly at: (speed: Speed, more?: Partial<Workload>) => Workload
}

/** `capacity` is of requests that use `cpuMs` of a core. Arrivals are the fleet's. */
const service = (
  name: string,
  capacity: number,
  steps: (speed: Speed) => Workload['steps'],
  poolSize = 10,
): Service => ({
  name,
  capacity,
  at: (speed, more) => ({ rate: () => 0, steps: steps(speed), poolSize, core: () => sharedCore(speed), ...more }),
})

/** 5 ms of CPU, in slices. */
export const CPU: Service = service('5 ms of CPU', 1000 / (5 + PARSE), () => cpu5)

/** So many connections to a database, for so long each; a slow member has slow queries. */
export const pooled = (connections: number, ms: number): Service =>
  service(
    `${connections} connections, ${ms} ms each`,
    (connections * 1000) / ms,
    speed => (): Step[] => [{ cpu: 0.1 }, { pool: nowMs => ms / speed(nowMs) }, { cpu: 0.1 }],
    connections,
  )
export const POOL: Service = pooled(10, 50)

/** CPU before and after something with room for everybody. */
export const AROUND_A_WAIT: Service = service(
  '2 ms of CPU around 30 ms of waiting',
  1000 / (2 + PARSE),
  () => (): Step[] => [{ cpu: 1 }, { wait: 30 }, { cpu: 1 }],
)

/** Next to no CPU, and much waiting: some ninety are in service before the core is full. */
export const WAITS: Service = service('2 ms of CPU around 200 ms of waiting', 1000 / (2 + PARSE), () => (): Step[] => [
  { cpu: 1 },
  { wait: 200 },
  { cpu: 1 },
])

/** Fails at once from one time to another, s. */
export const failing = (workload: Workload, fromS: number, toS: number): Workload => ({
  ...workload,
  steps: (random, nowMs) =>
    nowMs >= fromS * 1000 && nowMs < toS * 1000
      ? [{ cpu: 0.1 }, { call: (atMs, _, answered) => answered(atMs, true) }, { cpu: 0.1 }]
      : workload.steps(random, nowMs),
})
