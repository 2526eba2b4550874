/**
 * One call to a dependency. Every source of calls reports here: the hooks on undici (undici.ts) and node:http
 * (node-http.ts), and the database clients. When calls are recorded it is its own record, published at its end; when it
 * is limited it has a limiter (limiter.ts). It knows no particular client.
 *
 *   begun -> waits for a connection -> connected -> sent -> answered -> chunks of the body -> ended
 */
import { type Chain, CRITICALITY_FIELD, currentChain, NO_RETRY_FIELD } from '../chain.ts'
import { calls } from '../channels.ts'
import { now } from '../clock.ts'
import type { OpenCall, OutboundOutcome, OutboundRecord, Scope } from '../record.ts'
import { callBegins, callEnds } from './scope.ts'
import type { CallTurn } from './adaptive.ts'
import { type Attempt, currentAttempt } from './attempt.ts'
import { baggageOfRetry } from './baggage.ts'
import type { Bounds } from './bounds.ts'
import { callRoute } from './call-route.ts'
import { type Fields, type Given, type Headers, headerOf } from './headers.ts'
import { CallLimiter, type Carrier } from './limiter.ts'
import { codeOf, outcomeOf, textOf } from './outcome.ts'

/** A client's configuration of its server. It must not contain a user name or a password. */
export interface DatabaseAddress {
  readonly host?: unknown
  readonly port?: unknown
  readonly database?: unknown
}

/** A shorter wait for a connection does not count as queueing, ms. */
const NO_QUEUE_MS = 0.5

/** Whether calls of the running code are recorded, or belong to an attempt of retry(). */
export function isObserved(): boolean {
  return calls.hasSubscribers || currentAttempt() !== undefined
}

export class Call implements OutboundRecord, OpenCall {
  readonly kind: OutboundRecord['kind']
  readonly peer: string
  readonly operation: string
  readonly startedAtMs: number = now()
  readonly scope: Scope | undefined
  status: number | undefined = undefined
  outcome: OutboundOutcome = 'answered'
  errorCode: string | undefined = undefined
  phase: string | undefined = undefined
  queuedMs = 0
  connectMs: number | undefined = undefined
  sentAtMs: number | undefined = undefined
  firstByteAtMs: number | undefined = undefined
  endedAtMs = 0
  serverTiming: string | undefined = undefined
  readonly #path: unknown
  /** True while calls are recorded and this one has not ended. */
  #recorded = calls.hasSubscribers
  #limiter: CallLimiter | undefined = undefined
  #chain: Chain | undefined = undefined
  #attempt: Attempt | undefined = undefined
  #refusal: Error | undefined = undefined
  #statedAtMs = Number.NaN
  /** When the call got a connection opened for it, after it waited; undefined if either is unknown. */
  #turnAtMs: number | undefined
  #whole = false
  #ended = false

  /**
   * Begins an HTTP call; undefined when it is not recorded, not limited, and not part of an attempt of retry().
   * @param inLine it may have to wait for a connection, until {@link connecting} or {@link connected}
   */
  static http(
    origin: string,
    method: string,
    path: unknown,
    inLine: boolean,
    bounds?: Bounds,
    carrier?: Carrier,
  ): Call | undefined {
    const limits = carrier && bounds?.enter(origin)
    const attempt = currentAttempt()
    if (limits === undefined && attempt === undefined && !calls.hasSubscribers) return undefined
    const call = new Call('http', origin, method, path, inLine)
    call.#chain = currentChain()
    call.#attempt = attempt
    attempt?.began(method)
    if (limits instanceof Error) call.#refusal = limits
    else if (limits !== undefined) {
      call.#limiter = new CallLimiter(bounds!, origin, limits, carrier!, () => `${method} ${call.route ?? ''}`)
      call.#refusal = call.#limiter.turn?.refusal
    }
    return call
  }

  static database(
    kind: OutboundRecord['kind'],
    where: DatabaseAddress,
    operation: string,
    inLine = false,
  ): Call | undefined {
    return calls.hasSubscribers ? new Call(kind, peerOf(where), operation, undefined, inLine) : undefined
  }

  private constructor(kind: OutboundRecord['kind'], peer: string, operation: string, path: unknown, inLine: boolean) {
    this.kind = kind
    this.peer = peer
    this.operation = operation
    this.#path = path
    this.#turnAtMs = inLine ? undefined : this.startedAtMs
    this.scope = this.#recorded ? callBegins(this) : undefined
  }

  get route(): string | undefined {
    return typeof this.#path === 'string' ? callRoute(this.#path) : undefined
  }

  /** True when the call is recorded or an attempt of retry() learns from it, whether or not it is limited. */
  get isFollowed(): boolean {
    return this.#recorded || this.#attempt !== undefined
  }

  get isBounded(): boolean {
    return this.#limiter !== undefined
  }

  get refusal(): Error | undefined {
    return this.#refusal
  }

  /** The call's turn at the gate, if it waits for one: it must not go out earlier. */
  get waitsFor(): CallTurn | undefined {
    const turn = this.#limiter?.turn
    return turn?.waits === true ? turn : undefined
  }

  /** The caller ends the call, which says nothing about the peer. */
  cancelled(): void {
    this.#limiter?.cancelled()
  }

  /** A connection is being opened for the call. */
  connecting(): void {
    this.#limiter?.connecting()
    if (!this.#recorded || this.#turnAtMs !== undefined) return
    this.#turnAtMs = now()
    this.#waitedUntil(this.#turnAtMs)
  }

  /**
   * The call has a connection, and goes out.
   * @param made the connection was opened for it; otherwise the call waited for an existing one until now
   * @param whole the caller has provided the whole request
   */
  connected(made: boolean, whole: boolean): void {
    this.#limiter?.connected()
    if (!this.#recorded) return
    this.#whole = whole
    this.sentAtMs = now()
    const turnAtMs = made ? (this.#turnAtMs ?? this.startedAtMs) : this.sentAtMs
    this.connectMs = this.sentAtMs - turnAtMs
    this.#waitedUntil(turnAtMs)
  }

  #waitedUntil(atMs: number): void {
    const queuedMs = atMs - this.startedAtMs
    this.queuedMs = queuedMs > NO_QUEUE_MS ? queuedMs : 0
  }

  /** The last byte of the request was sent. For a request without more to come, this may be reported much later. */
  sent(): void {
    this.#limiter?.sent()
    if (this.#recorded && !this.#whole && this.firstByteAtMs === undefined) this.sentAtMs = now()
  }

  answered(status: number | undefined, headers: Headers): void {
    this.#limiter?.answered(status, headers)
    this.#attempt?.answered(status, headers)
    if (this.#chain !== undefined && Number(status) >= 400 && headerOf(headers, NO_RETRY_FIELD) !== undefined) {
      this.#chain.spend()
    }
    if (!this.#recorded || this.firstByteAtMs !== undefined) return
    this.firstByteAtMs = now()
    this.status = status
    this.serverTiming = headerOf(headers, 'server-timing')
  }

  chunk(bytes: number): void {
    this.#limiter?.chunk(bytes)
  }

  trailers(fields: Headers): void {
    this.#limiter?.trailers(fields)
  }

  /** meltproof's side has paused reading. */
  paused(): void {
    this.#limiter?.paused()
  }

  get ended(): boolean {
    return this.#ended
  }

  /** The call was given up; with `queued`, it spent all its time in its client's own pool. */
  fail(error: Error, queued: boolean): void {
    if (queued && this.#recorded) this.queuedMs = now() - this.startedAtMs
    this.end(error)
  }

  /** The call is over for the caller. May be called repeatedly. */
  end(error?: unknown): void {
    this.#ended = true
    this.#limiter?.end(error)
    this.endRecord(error)
  }

  upTo(atMs: number): OutboundRecord {
    if (this.sentAtMs === undefined && this.#turnAtMs === undefined) this.#waitedUntil(atMs)
    this.endedAtMs = atMs
    return this
  }

  /** Ends the record only; the limits continue when a client sends the call again as a new request. */
  endRecord(error?: unknown, atMs: number = now()): void {
    if (!this.#recorded) return
    this.#recorded = false
    callEnds(this.scope, this)
    this.upTo(atMs)
    this.outcome = outcomeOf(error)
    this.errorCode = codeOf(error)
    this.phase = textOf(error, 'phase')
    if (this.outcome === 'answered') this.firstByteAtMs ??= this.endedAtMs
    calls.publish(this)
  }

  /** @param origin the current target, after redirects */
  tells(origin: string): boolean {
    return this.#limiter?.tellsTo(origin) === true
  }

  /** True when its deadline fields state more time than is left, because it has waited for its connection. */
  get statesTooMuch(): boolean {
    return now() - this.#statedAtMs >= 1
  }

  /** The fields that a request to one of your own tiers must add or replace. */
  told(given: Given): Fields {
    this.#statedAtMs = now()
    const fields = [...(this.#limiter?.deadlineFields(given) ?? [])]
    const criticality = given(CRITICALITY_FIELD) === undefined ? this.#chain?.criticality : undefined
    if (criticality !== undefined) fields.push([CRITICALITY_FIELD, criticality])
    if (this.#chain?.retried === true) fields.push(['baggage', baggageOfRetry(given('baggage'))])
    return fields
  }
}

export function peerOf({ host, port, database }: DatabaseAddress): string {
  const name = typeof host === 'string' && host !== '' ? host : 'localhost'
  const at = typeof port === 'number' || typeof port === 'string' ? `${name}:${port}` : name
  return typeof database === 'string' || typeof database === 'number' ? `${at}/${database}` : at
}
