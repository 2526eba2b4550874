/**
 * The records of requests, calls, stalls and lost log lines. Uses no Node API. Times are milliseconds on the monotonic
 * clock of clock.ts and end in `AtMs`; durations are milliseconds and end in `Ms`. Add `performance.timeOrigin` to a
 * time for wall-clock milliseconds.
 */

/**
 * The cause of a slow request or call.
 * - `loop`: the event loop of this process could not turn, while the awaited data was ready;
 * - `dependency`: the service or database that was called;
 * - `network`: the path to the dependency and back, or a slow client;
 * - `self`: the work itself, or its wait at the gate.
 */
export type Verdict = 'loop' | 'dependency' | 'network' | 'self'

/** How long each of the four causes took, ms. For a request they add up to `totalMs` plus `lateMs`. */
export interface Shares {
  readonly loopMs: number
  readonly dependencyMs: number
  readonly networkMs: number
  readonly selfMs: number
}

export type RequestOutcome = 'answered' | 'aborted'

/** One request that passed the gate, at its end. */
export interface RequestRecord {
  /** Sent by the client, like `url`. Both are unbounded, so never use them as labels. */
  readonly method: string
  readonly url: string
  /** Template of the route, such as `/users/:id`, if an adapter or the app has named it. Bounded; usable as a label. */
  readonly route: string | undefined
  readonly status: number
  readonly outcome: RequestOutcome
  /** Bytes of the answer's body, as passed to its connection; undefined when unknown (docs/access-log.md). */
  readonly bytes: number | undefined
  readonly arrivedAtMs: number
  /** From `arrivedAtMs` until the answer was sent, or the connection was closed. */
  readonly totalMs: number
  /** Part of `totalMs`: waiting at the gate. */
  readonly queuedMs: number
  /** Part of `totalMs`: stalls of the event loop, without the handler's synchronous start. 0 if none were recorded. */
  readonly stalledMs: number
  /** Part of `totalMs`: waiting for dependencies and for connections to them. Calls at the same time count once. */
  readonly dependencyMs: number
  /** Part of `dependencyMs`: waiting for a free connection of a pool. */
  readonly poolMs: number
  /** Part of `totalMs`: the network's share of outbound calls, and transfer of the request's body and of the answer. */
  readonly networkMs: number
  readonly ownMs: number
  /** How long the request may have waited unread before `arrivedAtMs`, due to a stall. Not part of `totalMs`. */
  readonly lateMs: number
  readonly calls: number
  readonly shares: Shares
  readonly verdict: Verdict
}

export type OutboundOutcome = 'answered' | 'failed' | 'timeout' | 'aborted'

/** One outbound call, at its end; written by outbound/call.ts. */
export interface OutboundRecord {
  readonly kind: 'http' | 'pg' | 'mysql' | 'redis'
  /** An origin (`https://api.example:8443`) or `host:port/database`, without credentials. Usable as a label. */
  readonly peer: string
  readonly operation: string
  /** For HTTP: the path, with `*` in place of segments that look like ids. Unbounded, so never use it as a label. */
  readonly route: string | undefined
  readonly status: number | undefined
  readonly outcome: OutboundOutcome
  /** The error's `code` (`ECONNREFUSED`, `MELTPROOF_DEADLINE_EXCEEDED`, ...), if there was an error. */
  readonly errorCode: string | undefined
  /** The phase in which the call's time limit passed: the `phase` of the DeadlineExceededError. */
  readonly phase: string | undefined
  readonly startedAtMs: number
  /** How long the call waited for a connection of its client or pool, before anything was sent. */
  readonly queuedMs: number
  /** Name lookup, TCP and TLS for this call; 0 on an existing connection, undefined when unknown. */
  readonly connectMs: number | undefined
  readonly sentAtMs: number | undefined
  /** When this process read the first byte (or head) of the answer; undefined without an answer. */
  readonly firstByteAtMs: number | undefined
  /** When the call ended for the caller: with the complete answer, or the error. */
  readonly endedAtMs: number
  /** The answer's `Server-Timing` header exactly as received (joined with `, ` if several); undefined when absent. */
  readonly serverTiming: string | undefined
  /** `currentScope()` of outbound/scope.ts when the call was made: connects the call to its request. */
  readonly scope: object | undefined
}

export interface Interval {
  readonly fromMs: number
  readonly toMs: number
}

export interface OpenCall {
  /** Returns the record that the call would have if it ended at `atMs`. */
  upTo(atMs: number): OutboundRecord
}

/** A request that is being recorded, with its calls. */
export interface Scope {
  /** Outbound calls in progress that are known to belong to the request; undefined before the first. */
  openCalls: Set<OpenCall> | undefined
}

/** Requests whose handler never ran: shed at the gate, or left by their clients while they waited there. */
export interface ShedRecord {
  readonly atMs: number
  /** A key of `stats().shed`, or `left` if the client left while the request waited. */
  readonly reason: string
  /** A known method, or `_OTHER`. Bounded; usable as a label. */
  readonly method: string
  /** Wait at the gate; the mean if the record stands for several requests. */
  readonly waitedMs: number
  /** Bytes of the answer's body; 0 for HEAD, if the client had left, and if the record stands for several requests. */
  readonly bytes: number
  /** How many requests the record stands for. Each request is in one record. */
  readonly count: number
}

/** The reason of requests whose clients left while they waited. */
export const LEFT = 'left'

export interface StallRecord {
  readonly fromMs: number
  readonly toMs: number
}

/** A stall, and what blocked the event loop. */
export interface CulpritRecord extends StallRecord {
  /** A text such as `renderInvoice, src/invoice.js:88 (JSON.stringify)`; `unknown` when the place is uncertain. */
  readonly place: string
  /** The file of that place, resolved with its source map; undefined when unknown. */
  readonly file: string | undefined
  readonly line: number | undefined
  /** Empty for an anonymous function; undefined when unknown. */
  readonly functionName: string | undefined
  /** The call or work inside the function that took the time, such as `JSON.parse of 12 MB` or `garbage collection`. */
  readonly cause: string | undefined
  /** Such as `GET /invoices/:id`, for the running request. Unbounded, because without a named route it has the path. */
  readonly route: string | undefined
  /** The trace of that request, from its `traceparent` header. */
  readonly traceId: string | undefined
  /** Its `x-request-id` header, if that has at most 128 characters without spaces. */
  readonly requestId: string | undefined
}

export interface LogLossRecord {
  readonly stream: 'stdout' | 'stderr'
  readonly lines: number
  readonly bytes: number
}

/** Methods as label values: those of RFC 9110 and RFC 5789; others are `_OTHER`, as OpenTelemetry's conventions ask. */
export const METHODS = [
  '_OTHER',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
] as const

const METHOD_INDEX: ReadonlyMap<string, number> = new Map(METHODS.map((method, i) => [method, i]))

export function methodIndex(method: string): number {
  return METHOD_INDEX.get(method) ?? 0
}

/** Boundaries that OpenTelemetry's HTTP conventions prescribe for durations, seconds. */
export const DURATION_BOUNDARIES_S: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]

/** Index of the first boundary that is at least `value`, or the number of boundaries if all are smaller. */
export function bucketOf(value: number, boundaries: readonly number[]): number {
  let bucket = 0
  while (bucket < boundaries.length && value > boundaries[bucket]!) bucket++
  return bucket
}
