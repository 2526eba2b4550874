/** What the fleet scenario measures. */

/** Of a second in which requests were due. */
export interface FleetSecond {
  readonly due: number
  readonly good: number
  readonly shed: number
  /** Neither 2xx nor 503. */
  readonly failed: number
  /** Requests that each instance got. */
  readonly sent: readonly number[]
}

export interface FleetPhase {
  readonly due: number
  readonly good: number
  readonly shed: number
  /** Answers 502. */
  readonly bad: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly seconds: readonly FleetSecond[]
}

export interface FleetRun {
  readonly arm: string
  /** At 0.9 of what the fleet can do. */
  readonly steady: FleetPhase
  /** At 0.9 of what it can do after one has become four times slower. */
  readonly change: FleetPhase
}

/** Its service computes, and is held to a share of a core; or it waits, and the slow one holds connections for longer. */
export type FleetForm = 'cpu' | 'wait'

export interface FleetMeasured {
  readonly form: FleetForm
  /** Good answers a second of each instance, all of them busy. */
  capacities: readonly number[]
  /** Second of `change` at whose start the instance becomes slower. */
  changesAt: number
  /** Arms that could not be run, and why. */
  readonly missing: string[]
  readonly runs: FleetRun[]
}

/** Positions of the instances that stay fast, of the one that is slow from the start, and of the one that becomes slow. */
export const FAST = [0, 2] as const
export const SLOW = 3
export const BECOMES_SLOW = 1
export const TIMES_SLOWER = 4
/** Of what the fleet can do. */
export const LOAD = 0.9
/** Of the ideal. */
export const KEPT = 0.97

export const fleetCapacity = ({ capacities }: FleetMeasured): number => capacities.reduce((sum, each) => sum + each, 0)

/** When the other instance has become slower as well. */
export const capacityAfter = (measured: FleetMeasured): number =>
  fleetCapacity(measured) - (measured.capacities[BECOMES_SLOW] ?? 0) * (1 - 1 / TIMES_SLOWER)

/** All that is due can be served. */
export const kept = ({ good, due }: Pick<FleetSecond, 'good' | 'due'>): number => good / Math.max(1, due)

/** Seconds from the change until two in a row are as good as they should be; undefined: not before the end. */
export function backAfter({ change }: FleetRun, changesAt: number): number | undefined {
  const after = change.seconds.slice(changesAt)
  const isBack = (second: FleetSecond | undefined): boolean => second !== undefined && kept(second) >= KEPT
  const at = after.findIndex((second, index) => isBack(second) && isBack(after[index + 1]))
  return at === -1 ? undefined : at
}
