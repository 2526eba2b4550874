/** The measurements of the door scenario. */
import { median } from '../melt/summary.ts'

export interface DoorRun {
  readonly arm: string
  /** The load as a multiple of the capacity. */
  readonly load: number
  /** Good answers per second of the bare service, measured just before. */
  readonly capacity: number
  /** Good answers per second, as a share of the capacity. */
  readonly kept: number
  /** Latency of 200 answers, ms. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** The longest time from the due time of a request to its answer, ms. */
  readonly longestMs: number
  readonly noAnswer: number
  /** Good answers in each second. */
  readonly good: readonly number[]
  /** HAProxy's maxconn of the server (0 for none), with the time in ms. */
  readonly maxconn: readonly (readonly [atMs: number, maxconn: number])[]
}

export interface DoorMeasured {
  /** True if HAProxy and the load have a core each. */
  ownCores: boolean
  readonly runs: DoorRun[]
}

export interface DoorCell {
  readonly arm: string
  readonly load: number
  readonly kept: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly longestMs: number
  readonly noAnswer: number
}

/** Medians over the rounds; the longest time, and the total without an answer. */
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
