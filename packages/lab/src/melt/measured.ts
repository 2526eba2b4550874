/** What a melt run measures. Plain data. Durations in milliseconds, memory in bytes, rates per second. */

export interface MeltMeasured {
  setup: MeltSetup
  /** Null until it is known. */
  capacity: Capacity | null
  /** Iterations of the lab's busy loop per millisecond on the server's core; the same count is given to every arm. */
  spinPerMs: { readonly before: number | null; readonly after: number | null }
  /** Every step of every round, in the order they ran. */
  readonly steps: StepResult[]
  /** The same steps as the second route saw them, where the load has one. */
  beside?: StepResult[]
  /** One row per arm and multiple: medians over the rounds. */
  rows: readonly Row[]
  /** Where the options ask for it. */
  recovery?: Recoveries
  /** What `meltlab recover` looks for. */
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
  /** The seconds of each step that its figures are taken from. */
  readonly window: Window
}

/** A load the app carries, a spike from clients that ask again, and that load again. Multiples of the capacity, whole seconds. */
export interface RecoveryShape {
  readonly beforeS: number
  readonly spike: number
  readonly spikeS: number
  readonly afterS: number
  readonly retries: number
}

/** What of this makes an arm not come back. */
export interface Limit {
  readonly arm: string
  readonly kind: 'spike' | 'retries'
  /** Of the load whose retries are looked for. */
  readonly spike: number
  /** In the order in which they were tried: a multiple of the capacity, or a number of retries. */
  readonly tried: readonly { readonly level: number; readonly backAfterS: number | null }[]
  /** Why the last of them says nothing of the app; null when it does. */
  readonly unsure: string | null
}

export interface Recoveries {
  readonly shape: RecoveryShape
  /** One of each arm and round. */
  readonly arms: readonly Recovery[]
}

export interface Recovery {
  readonly arm: string
  /** Seconds from the drop of the load until answers were no longer late; null when they stayed late. */
  readonly backAfterS: number | null
  /** The process ended by itself. */
  readonly died: boolean
  /** Why it says nothing of the app; null when it does. */
  readonly unsure: string | null
  readonly seconds: readonly SecondResult[]
}

/** Requests scheduled from second `from` up to, not including, second `to`. */
export interface Window {
  readonly from: number
  readonly to: number
}

export interface Capacity {
  /** What percentages are of: the larger of before and after, as a disturbance can only make either look smaller. */
  readonly rate: number
  readonly before: number
  readonly after: number | null
  /** after / before - 1 */
  readonly drift: number | null
  /** What each search before the run found; absent where none was made. */
  readonly searches?: readonly number[] | undefined
  /** Concurrent users of the probe that gave it. */
  readonly users: number
  readonly latencyP50Ms: number | null
}

export interface Latency {
  readonly p50: number | null
  readonly p99: number | null
  readonly max: number | null
}

/** Rates of what became of the requests scheduled in the window; all but `shedLate` add up to `offered`. */
export interface Fates {
  readonly offered: number
  /** 2xx/3xx complete within the SLO. */
  readonly goodput: number
  /** 2xx/3xx, but after the SLO. */
  readonly late: number
  /** 503. */
  readonly shed: number
  /** Of the shed: those whose answer came after the SLO, when nobody was waiting for it any more. */
  readonly shedLate: number
  /** Any other status. */
  readonly otherStatus: number
  /** Connection errors and timeouts. */
  readonly failed: number
  /** The lab found no connection to send them on before the run ended. */
  readonly unsent: number
}

export interface StepResult extends Fates {
  readonly arm: string
  /** Of the capacity. */
  readonly multiple: number
  readonly round: number
  /** Latency of 2xx/3xx answers, in the window. */
  readonly admittedMs: Latency
  /** Latency of 503 answers, in the window. */
  readonly shedMs: Latency
  /** The longest any complete answer took, over the whole step. */
  readonly longestAnswerMs: number | null
  /** Over the whole step. */
  readonly answered: Readonly<Record<string, number>>
  readonly failedByCode: Readonly<Record<string, number>>
  readonly server: {
    readonly peakRssBytes: number
    readonly cpuMs: number
    /** Null when nothing was answered. */
    readonly cpuPerAnswerUs: number | null
    /** Share (0..1) of the server's core that others used meanwhile; null where unknown. */
    readonly foreignShare: number | null
    /** Set when the process ended by itself under the load. */
    readonly died: { readonly afterMs: number; readonly how: string } | null
  }
  readonly generator: {
    readonly certified: boolean
    readonly why: readonly string[]
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
  extends Pick<StepResult, keyof Fates | 'arm' | 'multiple' | 'admittedMs' | 'shedMs' | 'longestAnswerMs'> {
  readonly rounds: number
  /** Of the capacity, 0..1. */
  readonly ofCapacity: number
  /** Connection errors and timeouts, over the whole step. */
  readonly errors: number
  readonly peakRssBytes: number
  readonly cpuPerAnswerUs: number | null
  readonly died: boolean
}
