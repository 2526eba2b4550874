/** The work of members in simulated fleets. Each member can be slower than it should be, for a time or for good. */
import { sharedCore } from '../core.ts'
import { PARSE } from '../scenario-parts.ts'
import { cpu5 } from '../scenarios.ts'
import type { Step, Workload } from '../workload.ts'

/** The share of its usual speed that a member has at a time. */
export type Speed = (nowMs: number) => number
export const full: Speed = () => 1
export const constant =
  (speed: number): Speed =>
  () =>
    speed
/** The member has another speed, for example a quarter, between two times, s. */
export const between =
  (speed: number, fromS: number, toS: number = Number.POSITIVE_INFINITY): Speed =>
  nowMs =>
    nowMs >= fromS * 1000 && nowMs < toS * 1000 ? speed : 1

export interface Service {
  readonly name: string
  /** Requests per second of one member at full speed. */
  readonly capacity: number
  readonly at: (speed: Speed, more?: Partial<Workload>) => Workload
}

/** The fleet generates the arrivals, so the rate of each member is 0. */
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

/** Requests hold one of `connections` to a database for `ms`. A slow member has slow queries. */
export const pooled = (connections: number, ms: number): Service =>
  service(
    `${connections} connections, ${ms} ms each`,
    (connections * 1000) / ms,
    speed => (): Step[] => [{ cpu: 0.1 }, { pool: nowMs => ms / speed(nowMs) }, { cpu: 0.1 }],
    connections,
  )
export const POOL: Service = pooled(10, 50)

/** CPU before and after a call to something with unlimited capacity. */
export const AROUND_A_WAIT: Service = service(
  '2 ms of CPU around 30 ms of waiting',
  1000 / (2 + PARSE),
  () => (): Step[] => [{ cpu: 1 }, { wait: 30 }, { cpu: 1 }],
)

/** Hardly any CPU and long waits: about ninety requests are in service before the core is full. */
export const WAITS: Service = service('2 ms of CPU around 200 ms of waiting', 1000 / (2 + PARSE), () => (): Step[] => [
  { cpu: 1 },
  { wait: 200 },
  { cpu: 1 },
])

/** Its requests fail at once from `fromS` to `toS`, s. */
export const failing = (workload: Workload, fromS: number, toS: number): Workload => ({
  ...workload,
  steps: (random, nowMs) =>
    nowMs >= fromS * 1000 && nowMs < toS * 1000
      ? [{ cpu: 0.1 }, { call: (atMs, _, answered) => answered(atMs, true) }, { cpu: 0.1 }]
      : workload.steps(random, nowMs),
})
