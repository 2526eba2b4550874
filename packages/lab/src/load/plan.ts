/**
 * The input and output of a load run. Types and plain data only. All times are milliseconds. Every latency is counted
 * from the *scheduled* send time, so a stall cannot hide the requests that were due during it.
 */
import type { Histogram } from './histogram.ts'

/** How arrivals are spaced within a second: evenly, or as a Poisson process (independent users). */
export type Spacing = 'even' | 'poisson'

/** One part of a schedule. Rates are arrivals per second. */
export type Phase =
  | { readonly kind: 'constant'; readonly rate: number; readonly durationMs: number }
  | { readonly kind: 'ramp'; readonly fromRate: number; readonly toRate: number; readonly durationMs: number }

export interface Schedule {
  readonly phases: readonly Phase[]
  readonly spacing: Spacing
  /** Seed of the Poisson process; the same seed gives the same arrivals. */
  readonly seed: number
}

/**
 * Open loop: arrivals follow the schedule, whatever the server does. A request that fails, or is answered 5xx, is sent
 * again up to `retries` times while the schedule lasts; each retry counts as a request. Closed loop: each of the
 * `users` waits for an answer, then pauses for half to one and a half of `thinkMs`.
 */
export type Arrival =
  | { readonly kind: 'open'; readonly schedule: Schedule; readonly retries?: number }
  | { readonly kind: 'closed'; readonly users: number; readonly durationMs: number; readonly thinkMs: number }

/**
 * `keep-alive`: a standing set of `count` connections, opened before the clock starts; a request that finds none free
 * opens another, up to `max`. Beyond that it waits, which counts as latency, and it is unsent if none is free within
 * `timeoutMs`. With `newestFirst` a free connection goes to the newest waiting request. This simulates clients that do
 * not wait for each other, and are more than this machine can open connections for. `fresh`: a new connection for every
 * request. Over HTTP/2 a request takes a stream of an open connection, or of a new one.
 */
export type Connections =
  | { readonly kind: 'keep-alive'; readonly count: number; readonly max: number; readonly newestFirst?: true }
  | { readonly kind: 'fresh' }

/** By field name; a list is sent as one header line per value. */
export type RequestHeaders = Readonly<Record<string, string | string[]>>

export interface LoadTarget {
  readonly url: string
  readonly method: string
  readonly headers: RequestHeaders
  readonly body: string | Uint8Array | undefined
}

/** PEM texts. Defaults are Node's: its own list of authorities, and no client certificate. */
export interface Tls {
  /** The server's certificate is not verified. */
  readonly insecure?: true
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** A value that a step extracts from its answer. `at` is a JSON pointer, or the name of a header or cookie. */
export interface Extraction {
  readonly name: string
  readonly from: 'json' | 'header' | 'cookie'
  readonly at: string
}

export interface JourneyStep {
  readonly name: string
  /** Time from the previous answer until its request is due. */
  readonly thinkMs: number
  readonly extract: readonly Extraction[]
}

export interface Journey {
  /** The steps, one for each target of the plan, in order. */
  readonly steps: readonly JourneyStep[]
  /** Maximum concurrent journeys; a start above it is counted as not started. */
  readonly atOnce: number
}

export interface LoadPlan extends LoadTarget {
  /**
   * Further requests: all are sent round robin, the plan's own first. Request n goes to target n mod the number of
   * targets.
   */
  readonly others?: readonly LoadTarget[]
  /** Each arrival sends all the requests in sequence instead of one. */
  readonly journey?: Journey
  readonly arrival: Arrival
  readonly connections: Connections
  /** A request without a complete answer this long after its scheduled time fails with `response-timeout`. */
  readonly timeoutMs: number
  /**
   * A connection not established after this long fails with `connect-timeout`; so does a request that reaches
   * `timeoutMs` while its connection is still not established.
   */
  readonly connectTimeoutMs: number
  /** 2xx and 3xx answers that are complete within this time are goodput. */
  readonly sloMs: number
  /** Worker threads that share the load. */
  readonly threads: number
  /** Template fields (template.ts) in path, headers and body are replaced for each request. */
  readonly templated?: true
  /** The outcome contains the sequence numbers of the requests answered with 2xx. */
  readonly acknowledged?: true
  readonly tls?: Tls
  /** HTTP/2: over TLS by ALPN, otherwise by prior knowledge. A connection carries up to `streams` requests at once. */
  readonly http2?: { readonly streams: number }
}

/** Why a request got no complete answer. */
export type FailureCode =
  | 'refused'
  | 'reset'
  | 'connect-timeout'
  | 'response-timeout'
  | 'malformed'
  | 'unresolved'
  | 'unreachable'
  /** In flight when the run was aborted; not a failure of the server. */
  | 'aborted'
  | 'other'

/** The results of requests. */
export interface Counts {
  readonly scheduled: number
  readonly sent: number
  /** By status code. */
  readonly answered: Readonly<Record<string, number>>
  readonly failed: Readonly<Partial<Record<FailureCode, number>>>
  /** 2xx and 3xx answers complete within the SLO. */
  readonly good: number
}

/** The results of one of several targets. */
export interface TargetOutcome extends Counts {
  /** Latency of 2xx and 3xx answers, without failures and sheds. */
  readonly okLatency: Histogram
}

/** The results of one second of the schedule. A request belongs to the second in which it was *scheduled*. */
export interface LoadSecond extends TargetOutcome {
  /** Seconds since the start of the run. */
  readonly second: number
  /** Latency of 503 answers. */
  readonly shedLatency: Histogram
}

/** The counts so far, for a live view; sent about once a second. */
export interface LoadProgress extends Counts {
  readonly elapsedMs: number
  readonly totalMs: number
  readonly inflight: number
}

/** Reasons for which figures are not certified, the most serious first. */
export const DOUBT_CODES = [
  /** The run ended early. */
  'stopped',
  /** The generator did not run at all for 100 ms or longer. */
  'frozen',
  /** The generator was late, which changed a figure, reduced goodput, or left requests unsent. */
  'late',
  /** Requests waited for one of the connections that the plan allows. */
  'connections',
  /** The generator's core limited a closed loop. */
  'saturated',
  /** Not all standing connections could be opened. */
  'standing',
  /** Requests failed for a reason on this machine, such as no free port, or with the code `other`. */
  'failures',
  /** Answers were not HTTP. */
  'malformed',
] as const
export type DoubtCode = (typeof DOUBT_CODES)[number]

/** Kinds of results: answers 2xx and 3xx, answers 503, other answers, and failures. */
export const KINDS = ['ok', 'shed', 'other', 'failed'] as const
export type Kind = (typeof KINDS)[number]
export type ByKind<T> = Readonly<Record<Kind, T>>

export type FigureName = 'mean' | 'p50' | 'p90' | 'p95' | 'p99' | 'p999' | 'max'

/** A figure without the generator's own delay, and as measured; ms. The server's own figure lies between the two. */
export type Interval = readonly [clean: number, measured: number]

export interface Certificate {
  /** The most serious doubt. */
  readonly code: 'certified' | DoubtCode
  /** All doubts, the most serious first. */
  readonly doubts: readonly DoubtCode[]
  /** Kinds that did not occur are absent. Failures are measured from due to failed. */
  readonly intervals: Partial<ByKind<Readonly<Record<FigureName, Interval>>>>
}

/** scheduled = completed + sum(failedAt) + notStarted + cut, always. */
export interface JourneyOutcome {
  readonly scheduled: number
  readonly completed: number
  /** By step: its request failed, was unsent or not answered 2xx or 3xx, or its answer lacked a value. */
  readonly failedAt: readonly number[]
  /** Journeys not started because the maximum number was in progress. */
  readonly notStarted: number
  /** In progress when the run was stopped. */
  readonly cut: number
  /** How often an answer lacked a value to extract, by `step: name`. */
  readonly missing: Readonly<Record<string, number>>
  /** Completed journeys: from the scheduled start to the last answer, with think times. */
  readonly duration: Histogram
}

/** scheduled = sent + unsent; sent = sum(answered) + sum(failed), always. */
export interface LoadOutcome extends TargetOutcome {
  readonly unsent: number
  readonly elapsedMs: number
  /** `bytesRead`: all bytes, with heads and broken answers. `bodyBytes`: the bodies of complete answers. */
  readonly bytesRead: number
  readonly bodyBytes: number
  /** Bodies of requests that got a complete answer. */
  readonly bodyBytesSent: number
  /** In the order of the plan; empty with one target, or with more than 20. */
  readonly targets: readonly TargetOutcome[]
  /** Latency of 503 answers. */
  readonly shedLatency: Histogram
  /** Latency of all other answers (4xx, and 5xx except 503; 1xx never counts). */
  readonly otherLatency: Histogram
  /** From the scheduled send time of each failed request to its failure. */
  readonly failedAfter: Histogram
  /** Actual minus scheduled send time of every request sent: the generator's lateness. */
  readonly sendLag: Histogram
  readonly seconds: readonly LoadSecond[]
  /** CPU time of the generator per request sent, us, without idle turns. */
  readonly cpuPerRequestUs: number
  /** False if the generator was late or the bottleneck, or the run ended early; `why` explains it in sentences. */
  readonly certified: boolean
  readonly why: readonly string[]
  /** How much of the figures the generator may have caused. */
  readonly certificate: Certificate
  /** The latencies and `failedAfter` without the generator's own delay. */
  readonly clean: ByKind<Histogram>
  /** Numbers of the requests answered with 2xx, unordered; empty unless the plan asks for them. */
  readonly acknowledged: readonly number[]
  /** Only for a plan with journeys. */
  readonly journeys?: JourneyOutcome
  /** True if the run was aborted before its schedule ended. */
  readonly incomplete: boolean
}

export interface LoadOptions {
  /** Aborting ends the run at once. `runLoad` then resolves with what was measured, `incomplete: true`. */
  readonly signal?: AbortSignal
  /** Called when the connections are open, just before the load begins. */
  readonly onStart?: (() => void) | undefined
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined
}
