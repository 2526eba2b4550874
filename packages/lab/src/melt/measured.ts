/** The measurements of a melt run. Plain data. Durations in milliseconds, memory in bytes, rates per second. */
import type { DoubtCode } from '../load/plan.ts'

export interface MeltMeasured {
  setup: MeltSetup
  /** Null until known. */
  capacity: Capacity | null
  /** Iterations of the lab's busy loop per ms on the server's core; every arm gets the same number. */
  spinPerMs: { readonly before: number | null; readonly after: number | null }
  /** Every step of every round, in the order of execution. */
  readonly steps: StepResult[]
  /** The same steps for the second route, if the load has one. */
  beside?: StepResult[]
  /** One row per arm and multiple: medians over the rounds. */
  rows: readonly Row[]
  /** Present if the options ask for it. */
  recovery?: Recoveries
  /** The results of `meltlab recover`. */
  readonly limits?: Limit[]
}

export interface MeltSetup {
  readonly request: string
  readonly sloMs: number
  readonly timeoutMs: number
  readonly durationMs: number
  readonly rounds: number
  readonly spacing: string
  readonly connections: string
  /** The seconds of each step that count. */
  readonly window: Window
}

/** A load that the app can serve, then a spike (a multiple of capacity) with retrying clients, then the first load. */
export interface RecoveryShape {
  readonly beforeS: number
  readonly spike: number
  readonly spikeS: number
  readonly afterS: number
  readonly retries: number
  /** True if the dependency is silent during `spikeS`, and the load does not rise. */
  readonly isOutage?: true
}

/** The result of the search for the lowest level from which an arm does not recover. */
export interface Limit {
  readonly arm: string
  readonly kind: 'spike' | 'retries' | 'outage'
  /** The spike during which retries are searched. */
  readonly spike: number
  /** In the order of the attempts: a multiple of the capacity, a number of retries, or seconds. */
  readonly tried: readonly { readonly level: number; readonly backAfterS: number | null }[]
  /** Why the last attempt is no evidence about the app; null if it is evidence. */
  readonly unsure: string | null
}

export interface Recoveries {
  readonly shape: RecoveryShape
  /** One for each arm and round. */
  readonly arms: readonly Recovery[]
}

export interface Recovery {
  readonly arm: string
  /** Seconds from the drop of the load until answers were in time again; null if they stayed late. */
  readonly backAfterS: number | null
  /** True if the process ended by itself. */
  readonly died: boolean
  /** Why the result is no evidence about the app; null if it is evidence. */
  readonly unsure: string | null
  readonly seconds: readonly SecondResult[]
}

/** Requests scheduled from second `from` to before second `to`. */
export interface Window {
  readonly from: number
  readonly to: number
}

export interface Capacity {
  /** The base of percentages: the larger of before and after, because a disturbance can only reduce either. */
  readonly rate: number
  readonly before: number
  readonly after: number | null
  /** after / before - 1 */
  readonly drift: number | null
  /** The results of the searches before the run that count; absent without a search. */
  readonly searches?: readonly number[] | undefined
  /** False if a warm-up ended before the rate was steady; absent in older results. */
  readonly isSteady?: boolean | undefined
  /** Why the generator, and not the app, may have limited the rate; absent if it did not, and in older results. */
  readonly generator?: 'saturated' | 'frozen' | undefined
  /** Maximum time for which the app answered more slowly than later, ms of load since the first request. */
  readonly coldMs?: number | undefined
  /** Speed of the server's core while `rate` was measured; null or absent if unknown. */
  readonly coreSpeed?: number | null | undefined
  /** Difference of `before` and `after` that the core's speed does not explain, as a share of the smaller one. */
  readonly ownDrift?: number | undefined
  /** Concurrent users of the probe that gave the capacity. */
  readonly users: number
  readonly latencyP50Ms: number | null
}

export interface Latency {
  readonly p50: number | null
  readonly p99: number | null
  readonly max: number | null
}

export type Doubted = Partial<Record<'p50' | 'p99', number>>

/** Rates of the results of requests scheduled in the window. All but `shedLate` add up to `offered`. */
export interface Fates {
  readonly offered: number
  /** 2xx and 3xx, complete within the SLO. */
  readonly goodput: number
  /** 2xx and 3xx, after the SLO. */
  readonly late: number
  /** 503. */
  readonly shed: number
  /** Sheds answered after the SLO, when clients no longer waited. */
  readonly shedLate: number
  /** Any other status. */
  readonly otherStatus: number
  /** Connection errors and timeouts. */
  readonly failed: number
  /** Requests that the lab did not send in time, usually for lack of a free connection. */
  readonly unsent: number
}

export interface StepResult extends Fates {
  readonly arm: string
  /** The load as a multiple of the capacity. */
  readonly multiple: number
  readonly round: number
  /** Latency of 2xx and 3xx answers in the window. */
  readonly admittedMs: Latency
  /** The part of a figure of admittedMs that the generator may have caused, over the whole step; absent if certain. */
  readonly doubtedMs?: Doubted
  /** Latency of 503 answers, in the window. */
  readonly shedMs: Latency
  /** Longest time of any complete answer, over the whole step. */
  readonly longestAnswerMs: number | null
  /** Answers over the whole step, by status. */
  readonly answered: Readonly<Record<string, number>>
  readonly failedByCode: Readonly<Record<string, number>>
  readonly server: {
    readonly peakRssBytes: number
    readonly cpuMs: number
    /** Null without answers. */
    readonly cpuPerAnswerUs: number | null
    /** Share (0..1) of the server's core that other processes used; null if unknown. */
    readonly foreignShare: number | null
    /** Work per ms of the server's core, in the window; null or absent if unknown. */
    readonly coreSpeed?: number | null
    /** Set if the process ended by itself under the load. */
    readonly died: { readonly afterMs: number; readonly how: string } | null
  }
  readonly generator: {
    readonly certified: boolean
    readonly why: readonly string[]
    /** The codes of `why`; absent in older results. */
    readonly doubts?: readonly DoubtCode[]
    /** Answers a second that missed the SLO only because the generator was late; absent in older results. */
    readonly goodLost?: number
    readonly cpuPerRequestUs: number
    readonly sendLagP99Ms: number | null
  }
  readonly incomplete: boolean
  readonly seconds: readonly SecondResult[]
  readonly memory: readonly { readonly atMs: number; readonly rssBytes: number }[]
}

export interface SecondResult extends Fates {
  readonly second: number
  readonly admittedP50Ms: number | null
  readonly admittedP99Ms: number | null
}

export interface Row
  extends Pick<
    StepResult,
    keyof Fates | 'arm' | 'multiple' | 'admittedMs' | 'doubtedMs' | 'shedMs' | 'longestAnswerMs'
  > {
  readonly rounds: number
  /** Goodput divided by the capacity; 1 is all of it. */
  readonly ofCapacity: number
  /** Connection errors and timeouts, over the whole step. */
  readonly errors: number
  readonly peakRssBytes: number
  readonly cpuPerAnswerUs: number | null
  readonly died: boolean
  /** Why none of its rounds is evidence about the app; absent if one is. */
  readonly unjudged?: string
}
