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

/** Open loop: arrivals come when the schedule says, whatever the server does. Closed loop: `users` wait for each answer. */
export type Arrival =
  | { readonly kind: 'open'; readonly schedule: Schedule }
  | { readonly kind: 'closed'; readonly users: number; readonly durationMs: number; readonly thinkMs: number }

/**
 * `keep-alive`: a standing set of `count` connections, opened before the clock starts; a request that finds none free
 * opens one more, up to `max`; beyond that it waits, its latency running, and counts as unsent when the run ends first.
 * With `newestFirst` a free connection goes to the request that came last: for a load that needs more connections than
 * this machine can open. In turn, everybody would be as late as the longest queue allows, whatever the server does; a
 * crowd in which each has a connection of his own has no such queue.
 * `fresh`: a new connection for every request.
 */
export type Connections =
  | { readonly kind: 'keep-alive'; readonly count: number; readonly max: number; readonly newestFirst?: true }
  | { readonly kind: 'fresh' }

export interface LoadPlan {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
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
  /**
   * Makes every request one of its own: the marks of numbered-request.ts in path, headers and body are replaced, and the
   * outcome says which numbers were answered 2xx. Request n is the one of sender n mod `senders`, all of them in turn.
   */
  readonly numbered?: { readonly senders: number }
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

/** scheduled = sent + unsent; sent = sum(answered) + sum(failed), always. */
export interface LoadOutcome extends Counts {
  readonly unsent: number
  readonly elapsedMs: number
  readonly bytesRead: number
  /** Latency of 2xx/3xx answers; failures and sheds never enter it. */
  readonly okLatency: Histogram
  /** Latency of 503 answers. */
  readonly shedLatency: Histogram
  /** Latency of every other answer (1xx never counts; 4xx, 5xx but 503). */
  readonly otherLatency: Histogram
  /** Actual send time minus scheduled time, of every request sent: the generator's own lateness. */
  readonly sendLag: Histogram
  readonly seconds: readonly LoadSecond[]
  /** CPU the generator used per request sent, microseconds, without the idle turns of its pacing. */
  readonly cpuPerRequestUs: number
  /** False when the generator itself was late or the bottleneck, or the run was cut short; `why` says so in sentences. */
  readonly certified: boolean
  readonly why: readonly string[]
  /** Numbers of the requests answered 2xx, in no order; empty unless the plan is `numbered`. */
  readonly acknowledged: readonly number[]
  /** True when the run was aborted before its schedule ended. */
  readonly incomplete: boolean
}

export interface LoadOptions {
  /** Aborting ends the run at once and resolves with what was measured, `incomplete: true`. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: LoadProgress) => void
}
