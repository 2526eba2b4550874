/** The measurements of the fleet scenario. */
import type { SearchedCapacity } from './searched-capacity.ts'

/** The results of the requests due in one second. */
export interface FleetSecond {
  readonly due: number
  readonly good: number
  readonly shed: number
  /** Requests without an answer, or with one other than 2xx, 3xx or 503. */
  readonly failed: number
  /** Requests that each instance received. */
  readonly sent: readonly number[]
}

export interface FleetPhase {
  readonly due: number
  readonly good: number
  readonly shed: number
  /** Number of 502 answers. */
  readonly bad: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly seconds: readonly FleetSecond[]
}

export interface FleetRun {
  readonly arm: string
  /** At 0.9 of the fleet's capacity. */
  readonly steady: FleetPhase
  /** At 0.9 of the capacity that remains after one instance has become four times slower. */
  readonly change: FleetPhase
}

/** `cpu`: computes, limited to a share of a core. `wait`: waits; the slow instance holds connections longer. */
export type FleetForm = 'cpu' | 'wait'

export interface FleetMeasured {
  readonly form: FleetForm
  /** Requests per second that the balancer sends to each instance while all are busy. */
  capacities: readonly number[]
  /** Their sum as searched before the first arm, and after the last one. Results of older versions have none. */
  sums?: readonly SearchedCapacity[]
  /** The second of `change` at whose start the instance becomes slower. */
  changesAt: number
  /** Arms that could not be run, and why. */
  readonly missing: string[]
  readonly runs: FleetRun[]
}

/** Instances by index: two stay fast, one is slow from the start, and one becomes slow. */
export const FAST = [0, 2] as const
export const SLOW = 3
export const BECOMES_SLOW = 1
export const TIMES_SLOWER = 4
/** Load as a share of the fleet's capacity. */
export const LOAD = 0.9
/** Minimum share of the due requests that must be answered well. */
export const KEPT = 0.97

export const sumOf = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0)

export const fleetCapacity = ({ capacities }: FleetMeasured): number => sumOf(capacities)

/** The capacity after the second instance has become slow. */
export const capacityAfter = (measured: FleetMeasured): number =>
  fleetCapacity(measured) - (measured.capacities[BECOMES_SLOW] ?? 0) * (1 - 1 / TIMES_SLOWER)

/** The share of good answers; every due request can be served. */
export const kept = ({ good, due }: Pick<FleetSecond, 'good' | 'due'>): number => good / Math.max(1, due)

/** Seconds from the change to the first of two good seconds in a row; undefined if there are none until the end. */
export function backAfter({ change }: FleetRun, changesAt: number): number | undefined {
  const after = change.seconds.slice(changesAt)
  const isBack = (second: FleetSecond | undefined): boolean => second !== undefined && kept(second) >= KEPT
  const at = after.findIndex((second, index) => isBack(second) && isBack(after[index + 1]))
  return at === -1 ? undefined : at
}
