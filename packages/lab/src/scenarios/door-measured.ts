/** What the door scenario measures. */
import { median } from '../melt/summary.ts'

export interface DoorRun {
  readonly arm: string
  /** Times the capacity. */
  readonly load: number
  /** Good answers a second of the bare service, just before. */
  readonly capacity: number
  /** Good answers a second over the capacity. */
  readonly kept: number
  /** Of answers 200, ms. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** Of all answers, from when they were due. */
  readonly longestMs: number
  readonly noAnswer: number
  /** Good answers, by second. */
  readonly good: readonly number[]
  /** HAProxy's maxconn of the server, 0 for none; at ms. */
  readonly maxconn: readonly (readonly [atMs: number, maxconn: number])[]
}

export interface DoorMeasured {
  /** HAProxy and the load have a core each. */
  ownCores: boolean
  readonly runs: DoorRun[]
}

/** Of all rounds. */
export interface DoorCell {
  readonly arm: string
  readonly load: number
  readonly kept: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly longestMs: number
  readonly noAnswer: number
}

/** Medians of the rounds; the longest, and all that had no answer. */
export function cellsOf({ runs }: DoorMeasured): readonly DoorCell[] {
  return [...Map.groupBy(runs, ({ arm, load }) => `${load} ${arm}`).values()].map(rounds => ({
    arm: rounds[0]!.arm,
    load: rounds[0]!.load,
    kept: median(rounds.map(({ kept }) => kept))!,
    p50Ms: median(rounds.flatMap(({ p50Ms }) => p50Ms ?? [])),
    p99Ms: median(rounds.flatMap(({ p99Ms }) => p99Ms ?? [])),
    longestMs: Math.max(...rounds.map(({ longestMs }) => longestMs)),
    noAnswer: rounds.reduce((sum, { noAnswer }) => sum + noAnswer, 0),
  }))
}
