/**
 * What a load run is asked to do and what it hands back: the contract between the
 * commands and scenarios that want load and the engine that makes it. Types and plain data only.
 *
 * All times are milliseconds. Every latency is counted from the *scheduled* send time, so a stall of
 * the server, or of the generator, can not hide requests that should have been sent meanwhile.
 */
import type { Histogram } from './histogram.ts'

/** How arrivals are spaced inside a second: evenly, or as a Poisson process (independent users). */
export type Spacing = 'even' | 'poisson'

/** One stretch of a schedule. Rates are arrivals per second. */
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
 * Open loop: arrivals come when the schedule says, whatever the server does. A request that fails, or is answered 5xx, is sent
 * again up to `retries` times while the schedule lasts; each of them counts as a request. Closed loop: `users` wait for each answer, then
 * pause for half to one and a half of `thinkMs`.
 */
export type Arrival =
  | { readonly kind: 'open'; readonly schedule: Schedule; readonly retries?: number }
  | { readonly kind: 'closed'; readonly users: number; readonly durationMs: number; readonly thinkMs: number }

/**
 * `keep-alive`: a standing set of `count` connections, opened before the clock starts; a request that finds none free
 * opens one more, up to `max`; beyond that it waits, its latency running, and counts as unsent when the run ends first.
 * With `newestFirst` a free connection goes to the request that came last: for a load that needs more connections than
 * this machine can open. In turn, everybody would be as late as the longest queue allows, whatever the server does; a
 * crowd in which each has a connection of his own has no such queue.
 * `fresh`: a new connection for every request.
 * Over HTTP/2 a request takes a stream: one of a connection that stands, or else of a new one.
 */
export type Connections =
  | { readonly kind: 'keep-alive'; readonly count: number; readonly max: number; readonly newestFirst?: true }
  | { readonly kind: 'fresh' }

/** By name as it is to be sent; a list is sent as one header line for each value. */
export type RequestHeaders = Readonly<Record<string, string | string[]>>

export interface LoadTarget {
  readonly url: string
  readonly method: string
  readonly headers: RequestHeaders
  readonly body: string | Uint8Array | undefined
}

/** PEM texts; what is absent is as Node has it: its own list of authorities, no certificate of ours. */
export interface Tls {
  /** The certificate of the server is not verified. */
  readonly insecure?: true
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** What a step reads out of its answer, for later steps: where `at` is a JSON pointer, or the name of a header or cookie. */
export interface Extraction {
  readonly name: string
  readonly from: 'json' | 'header' | 'cookie'
  readonly at: string
}

export interface JourneyStep {
  readonly name: string
  /** From the answer before until its request is due. */
  readonly thinkMs: number
  readonly extract: readonly Extraction[]
}

export interface Journey {
  /** Of each target of the plan, in their order. */
  readonly steps: readonly JourneyStep[]
  /** As many may be under way; a start that finds them is not made, and counted. */
  readonly atOnce: number
}

export interface LoadPlan extends LoadTarget {
  /** Further requests: all of them take turns in this order, the plan's own first. Request n is target n mod their number. */
  readonly others?: readonly LoadTarget[]
  /** Each arrival makes all the requests, one after the other, instead of one. */
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
  /** Answers of status 2xx/3xx complete within this are goodput. */
  readonly sloMs: number
  /** Worker threads that share the load. */
  readonly threads: number
  /** The fields of template.ts in path, headers and body are filled in, anew for each request. */
  readonly templated?: true
  /** The outcome says which requests were answered 2xx, by number. */
  readonly acknowledged?: true
  readonly tls?: Tls
  /** HTTP/2: over TLS by ALPN, else by prior knowledge. Each connection carries up to `streams` requests at once. */
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
  /** Still on its way when the run was aborted; not a failure of the server. */
  | 'aborted'
  | 'other'

/** What became of requests. */
export interface Counts {
  readonly scheduled: number
  readonly sent: number
  /** By status code. */
  readonly answered: Readonly<Record<string, number>>
  readonly failed: Readonly<Partial<Record<FailureCode, number>>>
  /** Answers 2xx/3xx complete within the SLO. */
  readonly good: number
}

/** Of one of several targets. */
export interface TargetOutcome extends Counts {
  /** Latency of 2xx/3xx answers. */
  readonly okLatency: Histogram
}

/** Of one second of the schedule. A request belongs to the second in which it was *scheduled*. */
export interface LoadSecond extends Counts {
  /** Seconds since the start of the run. */
  readonly second: number
  /** Latency of 2xx/3xx answers. */
  readonly okLatency: Histogram
  /** Latency of 503 answers. */
  readonly shedLatency: Histogram
}

/** What is known so far, for a live view; delivered about once a second. */
export interface LoadProgress extends Counts {
  readonly elapsedMs: number
  readonly totalMs: number
  readonly inflight: number
}

/** Why figures are not certified, the gravest first. */
export const DOUBT_CODES = [
  /** The run was cut short. */
  'stopped',
  /** The generator did not run at all for 100 ms or longer. */
  'frozen',
  /** Its lateness shows in a figure, lost goodput, or kept requests from being sent. */
  'late',
  /** Requests waited for one of the connections that the plan allows. */
  'connections',
  /** A closed loop was limited by the generator's core. */
  'saturated',
  /** Not all standing connections could be opened. */
  'standing',
  /** Requests failed for a reason that lies with this machine, or has no code. */
  'failures',
  /** Answers were not HTTP. */
  'malformed',
] as const
export type DoubtCode = (typeof DOUBT_CODES)[number]

/** What came of requests: answers 2xx and 3xx, 503, all others, and none. */
export const KINDS = ['ok', 'shed', 'other', 'failed'] as const
export type Kind = (typeof KINDS)[number]
export type ByKind<T> = Readonly<Record<Kind, T>>

export type FigureName = 'mean' | 'p50' | 'p90' | 'p95' | 'p99' | 'p999' | 'max'

/**
 * A figure without the generator's own delay, at most, and as measured; ms. The server's own lies between. Certified is
 * what owes the generator at most a tenth of itself, or (where that is more) 0.1 ms of mean and p50, 0.3 ms up to p99, and
 * 3 ms of p99.9, the maximum and a percentile with fewer than ten requests beyond it.
 */
export type Interval = readonly [clean: number, measured: number]

export interface Certificate {
  /** The gravest of the doubts. */
  readonly code: 'certified' | DoubtCode
  /** All of them, the gravest first. */
  readonly doubts: readonly DoubtCode[]
  /** Of failures: from due to failed. Without a kind that did not occur. */
  readonly intervals: Partial<ByKind<Readonly<Record<FigureName, Interval>>>>
}

/** scheduled = completed + sum(failedAt) + notStarted + cut, always. */
export interface JourneyOutcome {
  readonly scheduled: number
  readonly completed: number
  /** By step: its request failed or was never sent, was not answered 2xx or 3xx, or lacked what later steps need. */
  readonly failedAt: readonly number[]
  /** As many as may be were under way. */
  readonly notStarted: number
  /** Under way when the run was stopped. */
  readonly cut: number
  /** How often an answer lacked what was to be read out of it, by `step: name`. */
  readonly missing: Readonly<Record<string, number>>
  /** Of those that were completed: from when they were due to start to their last answer, think times included. */
  readonly duration: Histogram
}

/** scheduled = sent + unsent; sent = sum(answered) + sum(failed), always. */
export interface LoadOutcome extends Counts {
  readonly unsent: number
  readonly elapsedMs: number
  /** Of everything that was read, heads and broken answers too; and of the bodies of complete answers. */
  readonly bytesRead: number
  readonly bodyBytes: number
  /** Of the bodies of requests that got a complete answer. */
  readonly bodyBytesSent: number
  /** In the order of the plan; empty when there is but one target, or more than anybody reads (20). */
  readonly targets: readonly TargetOutcome[]
  /** Latency of 2xx/3xx answers; failures and sheds never enter it. */
  readonly okLatency: Histogram
  /** Latency of 503 answers. */
  readonly shedLatency: Histogram
  /** Latency of every other answer (1xx never counts; 4xx, 5xx but 503). */
  readonly otherLatency: Histogram
  /** From the scheduled send time of every request that failed until then. */
  readonly failedAfter: Histogram
  /** Actual send time minus scheduled time, of every request sent: the generator's own lateness. */
  readonly sendLag: Histogram
  readonly seconds: readonly LoadSecond[]
  /** CPU the generator used per request sent, microseconds, without the idle turns of its pacing. */
  readonly cpuPerRequestUs: number
  /** False when the generator itself was late or the bottleneck, or the run was cut short; `why` says so in sentences. */
  readonly certified: boolean
  readonly why: readonly string[]
  /** By how much the figures may be the generator's. */
  readonly certificate: Certificate
  /** The latencies and `failedAfter` without the generator's own delay, at most. */
  readonly clean: ByKind<Histogram>
  /** Numbers of the requests answered 2xx, in no order; empty unless the plan asks for them. */
  readonly acknowledged: readonly number[]
  /** Of a plan of journeys. */
  readonly journeys?: JourneyOutcome
  /** True when the run was aborted before its schedule ended. */
  readonly incomplete: boolean
}

export interface LoadOptions {
  /** Aborting ends the run at once and resolves with what was measured, `incomplete: true`. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: LoadProgress) => void
}
