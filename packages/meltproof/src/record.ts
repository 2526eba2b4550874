/**
 * What meltproof writes down of a request, of a call to somebody else, of a stall, of a lost log line. Plain facts in
 * plain types: whoever does the work fills them in, metrics, logs and verdicts read them. Knows no Node API.
 *
 * Points in time are milliseconds on the monotonic clock of clock.ts and end in `AtMs`; durations are milliseconds and
 * end in `Ms`. Add `performance.timeOrigin` to a point in time for wall-clock milliseconds.
 */

/**
 * Who was slow.
 * - `loop`: our event loop could not turn, and what was waited for lay ready;
 * - `dependency`: whoever was called;
 * - `network`: the way there and back, or a client that takes its time;
 * - `self`: the work itself, or the queue for it.
 */
export type Verdict = 'loop' | 'dependency' | 'network' | 'self'

/** How long each of the four took; what the verdict is drawn from. They add up to the whole. */
export interface Shares {
  readonly loopMs: number
  readonly dependencyMs: number
  readonly networkMs: number
  readonly selfMs: number
}

/** How a request whose handler ran ended. One that was turned away has a ShedRecord instead. */
export type RequestOutcome =
  /** The handler answered, whatever the status. */
  | 'answered'
  /** The client went away before the answer was complete. */
  | 'aborted'

/** One request that got past the gate, once it is over. */
export interface RequestRecord {
  /** As the client wrote it; not bounded, so never a label as it is. */
  readonly method: string
  /** Request target as received, with its query. Never a label. */
  readonly url: string
  /** Template of the route, such as `/users/:id`, when an adapter or the app has named it. Bounded; a label. */
  readonly route: string | undefined
  /** Status sent; 0 when none was. */
  readonly status: number
  readonly outcome: RequestOutcome
  /**
   * Bytes of the answer's body that were given to its connection, encoded as they were sent; of an aborted request at
   * most as many reached the client. Undefined when not known. docs/access-log.md says what is counted.
   */
  readonly bytes: number | undefined
  /** When its head was parsed. */
  readonly arrivedAtMs: number
  /** From `arrivedAtMs` until the answer had left, or the connection was gone. */
  readonly totalMs: number
  /** Of that: waited at the gate. */
  readonly queuedMs: number
  /**
   * Of that: stalls of the event loop it sat through after it left the gate, other than its own handler's first
   * stretch. 0 where the stall ledger was not on.
   */
  readonly stalledMs: number
  /** Of that: waited for calls to others (their union in time), without the stalls. */
  readonly dependencyMs: number
  /** Of that: the network's share of those calls, and the time a body or the answer took to cross to the client. */
  readonly networkMs: number
  /** What is left: the handler's own work, timers, disk. */
  readonly ownMs: number
  /**
   * How long its bytes may have lain in the socket before `arrivedAtMs`, because the loop was stalled. Not part of
   * `totalMs`: nobody can see when they came, only that it was during that stall.
   */
  readonly lateMs: number
  /** Calls to others made on its behalf. */
  readonly calls: number
  readonly shares: Shares
  readonly verdict: Verdict
}

/** How a call to somebody else ended. */
export type OutboundOutcome =
  | 'answered'
  /** Refused, reset, unreachable, a protocol error. */
  | 'failed'
  /** One of our limits passed. */
  | 'timeout'
  /** The caller no longer wanted it. */
  | 'aborted'

/**
 * One call to somebody else, once it is over; written by recorded-call.ts. Everything else about the call is derived
 * from this and the stall ledger.
 */
export interface OutboundRecord {
  /** What was called. */
  readonly kind: 'http' | 'pg' | 'mysql' | 'redis'
  /**
   * Whom: an origin (`https://api.example:8443`), or `host:port/database`. Never a path, never a user name or
   * password. It becomes a label (the first hundred of them; later ones are counted as `other`).
   */
  readonly peer: string
  /** HTTP method, or what kind of statement or command, such as `query` or `GET`. */
  readonly operation: string
  /** HTTP status; undefined for everything else and when no answer came. */
  readonly status: number | undefined
  readonly outcome: OutboundOutcome
  /** The error's `code` (`ECONNREFUSED`, `MELTPROOF_DEADLINE_EXCEEDED`, ...), when there was one. */
  readonly errorCode: string | undefined
  /** What was being waited for when a limit passed: the `phase` of the DeadlineExceededError. */
  readonly phase: string | undefined
  /** When the caller called. */
  readonly startedAtMs: number
  /**
   * How long it waited for a place among the calls in flight, or for a connection of the pool, before it could be
   * sent. That queue is ours: it is not the dependency's time. 0 if it did not.
   */
  readonly queuedMs: number
  /** Name lookup, TCP and TLS for this call; 0 on a connection that stood already, undefined when not known. */
  readonly connectMs: number | undefined
  /** When the last byte of the request was given to the socket; undefined when not known. */
  readonly sentAtMs: number | undefined
  /** When we saw the first byte (or head) of the answer; undefined when none came. */
  readonly firstByteAtMs: number | undefined
  /** When the call was over for the caller: the answer complete, or the error. */
  readonly endedAtMs: number
  /** The answer's `Server-Timing` header exactly as received (joined with `, ` if several); undefined when absent. */
  readonly serverTiming: string | undefined
  /** `currentScope()` of scope.ts when the call was made: ties the call to its request. */
  readonly scope: object | undefined
}

/** A request turned away at the gate; its handler never ran. */
export interface ShedRecord {
  readonly atMs: number
  /** As in `guard.stats().shed`. */
  readonly reason: string
  /** How long it had waited at the gate. */
  readonly waitedMs: number
  /** Bytes of the body of the answer it got; 0 for HEAD, and when its client had gone. */
  readonly bytes: number
}

/** A stretch in which the event loop could not turn. */
export interface StallRecord {
  readonly fromMs: number
  readonly toMs: number
}

/** Log lines that were given up, because whoever reads them does not keep up. */
export interface LogLossRecord {
  readonly stream: 'stdout' | 'stderr'
  /** Given up since the last such record. */
  readonly lines: number
  readonly bytes: number
}
