/**
 * What meltproof writes down of requests, calls, stalls and lost log lines. Knows no Node API. Points in time are
 * milliseconds on the monotonic clock of clock.ts and end in `AtMs`; durations are milliseconds and end in `Ms`. Add
 * `performance.timeOrigin` to a point in time for wall-clock milliseconds.
 */

/**
 * Who was slow.
 * - `loop`: our event loop could not turn, and what was waited for lay ready;
 * - `dependency`: the service or database that was called;
 * - `network`: the way there and back, or a client that takes its time;
 * - `self`: the work itself, the queue for it, or the wait of a call for a thread that our own work has.
 */
export type Verdict = 'loop' | 'dependency' | 'network' | 'self'

/** How long each of the four took. They add up to the whole. */
export interface Shares {
  readonly loopMs: number
  readonly dependencyMs: number
  readonly networkMs: number
  readonly selfMs: number
}

export type RequestOutcome = 'answered' | 'aborted'

/** One request that got past the gate, once it is over. */
export interface RequestRecord {
  /** As the client wrote it; not bounded, so never a label, nor is `url`. */
  readonly method: string
  readonly url: string
  /** Template of the route, such as `/users/:id`, when an adapter or the app has named it. Bounded; a label. */
  readonly route: string | undefined
  readonly status: number
  readonly outcome: RequestOutcome
  /** Of the answer's body, as given to its connection; undefined when not known (docs/access-log.md). */
  readonly bytes: number | undefined
  readonly arrivedAtMs: number
  /** From `arrivedAtMs` until the answer had left, or the connection was gone. */
  readonly totalMs: number
  /** Of that: waited at the gate. */
  readonly queuedMs: number
  /** Of that: stalls of the event loop, other than its own handler's first stretch. 0 where the ledger was not on. */
  readonly stalledMs: number
  /** Of that: waited for calls to others (their union in time), without the stalls. */
  readonly dependencyMs: number
  /** Of `dependencyMs`: these calls waited for a free connection of their pool. */
  readonly poolMs: number
  /** Of that: the network's share of those calls, and the time a body or the answer took to cross to the client. */
  readonly networkMs: number
  readonly ownMs: number
  /** How long its bytes may have lain in the socket before `arrivedAtMs`, because of a stall. Not part of `totalMs`. */
  readonly lateMs: number
  readonly calls: number
  readonly shares: Shares
  readonly verdict: Verdict
}

export type OutboundOutcome = 'answered' | 'failed' | 'timeout' | 'aborted'

/** One call to somebody else, once it is over; written by outbound/call.ts. */
export interface OutboundRecord {
  readonly kind: 'http' | 'pg' | 'mysql' | 'redis'
  /** An origin (`https://api.example:8443`), or `host:port/database`; no path, no credentials. A bounded label. */
  readonly peer: string
  readonly operation: string
  /** Of HTTP: the path, with `*` for what looks like an id. Not bounded, so no label. */
  readonly route: string | undefined
  readonly status: number | undefined
  readonly outcome: OutboundOutcome
  /** The error's `code` (`ECONNREFUSED`, `MELTPROOF_DEADLINE_EXCEEDED`, ...), when there was one. */
  readonly errorCode: string | undefined
  /** What was being waited for when a limit passed: the `phase` of the DeadlineExceededError. */
  readonly phase: string | undefined
  readonly startedAtMs: number
  /** How long it waited for its turn on a connection of its client or pool, before anything was sent. */
  readonly queuedMs: number
  /** Name lookup, TCP and TLS for this call; 0 on a connection that stood already, undefined when not known. */
  readonly connectMs: number | undefined
  readonly sentAtMs: number | undefined
  /** When we saw the first byte (or head) of the answer; undefined when none came. */
  readonly firstByteAtMs: number | undefined
  /** When the call was over for the caller: the answer complete, or the error. */
  readonly endedAtMs: number
  /** The answer's `Server-Timing` header exactly as received (joined with `, ` if several); undefined when absent. */
  readonly serverTiming: string | undefined
  /** `currentScope()` of outbound/scope.ts when the call was made: ties the call to its request. */
  readonly scope: object | undefined
}

/** A call that is under way. */
export interface OpenCall {
  /** Its record as if it were over at `atMs`. */
  upTo(atMs: number): OutboundRecord
}

/** A request while it is observed: what its calls are counted towards. */
export interface Scope {
  /** Its calls to others that are under way, as far as they are noted; undefined while it has made none. */
  openCalls: Set<OpenCall> | undefined
}

/** Requests whose handler never ran: turned away at the gate, or their clients left while they waited there. */
export interface ShedRecord {
  readonly atMs: number
  /** Of `stats().shed`; or `left`: its client had gone. */
  readonly reason: string
  /** A known method, or `_OTHER`. Bounded; a label. */
  readonly method: string
  /** At the gate; of several requests their mean. */
  readonly waitedMs: number
  /** Bytes of the body of the answer it got; 0 for HEAD, when its client had gone, and for several requests. */
  readonly bytes: number
  /** How many requests it stands for. Each is in one record. */
  readonly count: number
}

/** The reason of requests whose clients left while they waited. */
export const LEFT = 'left'

export interface StallRecord {
  readonly fromMs: number
  readonly toMs: number
}

/** A stall, and what held the event loop. */
export interface CulpritRecord extends StallRecord {
  /** In words, such as `renderInvoice, src/invoice.js:88 (JSON.stringify)`; `unknown` when it is not known for sure. */
  readonly place: string
  /** Of that place, in the source that its source map names; undefined when it is not known. */
  readonly file: string | undefined
  readonly line: number | undefined
  /** Empty for a function without a name. */
  readonly functionName: string | undefined
  /** What it had called, such as `JSON.parse of 12 MB`, or `garbage collection`. */
  readonly cause: string | undefined
  /** `GET /invoices/:id` of the request that ran; the path where no route is named, so not bounded. */
  readonly route: string | undefined
}

export interface LogLossRecord {
  readonly stream: 'stdout' | 'stderr'
  readonly lines: number
  readonly bytes: number
}

/** Methods as labels, because a client may send any: those of RFC 9110 and RFC 5789; others are `_OTHER`, as OpenTelemetry's conventions ask. */
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

/** In METHODS. */
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
