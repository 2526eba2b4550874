/**
 * One call to a dependency. The hooks on undici (undici.ts) and node:http (node-http.ts) and the database clients
 * report its progress here. While calls are recorded, the object is also the record, published when the call ends. A
 * limited call has a limiter (call-limiter.ts). This file knows no particular client.
 *
 *   begun -> waits for a connection -> connected -> sent -> answered -> chunks of the body -> ended
 */
import { type Chain, CRITICALITY_FIELD, currentChain, NO_RETRY_FIELD } from '../chain.ts'
import { calls } from '../channels.ts'
import { now } from '../clock.ts'
import type { OpenCall, OutboundOutcome, OutboundRecord, Scope } from '../record.ts'
import type { GatedCall } from './adaptive.ts'
import { type Attempt, currentAttempt } from './attempt.ts'
import type { Bounds } from './bounds.ts'
import { callRoute } from './call-route.ts'
import { type Fields, type Given, type Headers, headerOf } from './headers.ts'
import { CallLimiter, type Carrier } from './call-limiter.ts'
import { codeOf, outcomeOf, textOf } from './outcome.ts'
import { callBegins } from './scope.ts'

/** The server's address in a client's configuration. Other members, such as the password, are not read. */
export interface DatabaseAddress {
  readonly host?: unknown
  readonly port?: unknown
  readonly database?: unknown
}

/** A shorter wait for a connection does not count as queueing, ms. */
const NO_QUEUE_MS = 0.5

/** True if calls of the running code are recorded, or belong to an attempt of retry(). */
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
  /** True until the call ends, if calls were recorded when it began. */
  #recorded = calls.hasSubscribers
  #limiter: CallLimiter | undefined = undefined
  #chain: Chain | undefined = undefined
  #attempt: Attempt | undefined = undefined
  #refusal: Error | undefined = undefined
  #statedAtMs = Number.NaN
  /** When a connection for the call began to be opened, after any wait for a free one; undefined while unknown. */
  #turnAtMs: number | undefined
  #whole = false
  #ended = false

  /**
   * Begins an HTTP call. Returns undefined if it is not recorded, not limited, and not part of an attempt of retry().
   * @param inLine true if the call may wait for a connection, until {@link connecting} or {@link connected}
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
      call.#refusal = call.#limiter.gated?.refusal
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

  /** Undefined for a call without limits. */
  get limiter(): CallLimiter | undefined {
    return this.#limiter
  }

  get refusal(): Error | undefined {
    return this.#refusal
  }

  /** Defined while the call waits at the gate of its origin: the client must not send it yet. */
  get waitsFor(): GatedCall | undefined {
    const gated = this.#limiter?.gated
    return gated?.waits === true ? gated : undefined
  }

  /** A connection is being opened for the call. */
  connecting(): void {
    this.#limiter?.phases.connecting(now())
    if (!this.#recorded || this.#turnAtMs !== undefined) return
    this.#turnAtMs = now()
    this.#waitedUntil(this.#turnAtMs)
  }

  /**
   * The call has a connection, and is sent.
   * @param made true if the connection was opened for it, false if the call waited for an existing one until now
   * @param whole true if the caller has provided the whole request
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

  /** The request's last byte was sent. Ignored if {@link connected} had the whole request: this event may be late. */
  sent(): void {
    this.#limiter?.phases.sent(now())
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

  get ended(): boolean {
    return this.#ended
  }

  /** meltproof gives up the call. With `queued`, the call spent all its time waiting in its client. */
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

  /** Ends only the record. The limits continue, because the client may send the call again as a new request. */
  endRecord(error?: unknown, atMs: number = now()): void {
    if (!this.#recorded) return
    this.#recorded = false
    this.scope?.openCalls?.delete(this)
    this.upTo(atMs)
    this.outcome = outcomeOf(error)
    this.errorCode = codeOf(error)
    this.phase = textOf(error, 'phase')
    if (this.outcome === 'answered') this.firstByteAtMs ??= this.endedAtMs
    calls.publish(this)
  }

  /** True if the deadline fields are 1 ms old or older, so that they state more time than is left. */
  get statesTooMuch(): boolean {
    return now() - this.#statedAtMs >= 1
  }

  /** Returns the header fields that a request to one of your own tiers must add or replace. */
  tierFields(given: Given): Fields {
    this.#statedAtMs = now()
    const fields = this.#limiter?.deadlineFields(given) ?? []
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

/** meltproof's member in the `baggage` field (W3C Baggage). */
const RETRY_MEMBER = 'meltproof.retry'
const RETRY = `${RETRY_MEMBER}=1`

/**
 * Returns the baggage of a retry: meltproof's member, once and first so that no length limit removes it, then the
 * others. Tiers with OpenTelemetry forward baggage from any sender, so the member must never cause more retries.
 * @param given the baggage that the app sends
 */
export function baggageOfRetry(given: string | undefined): string {
  const members = (given ?? '').split(',')
  const others = members.filter(member => member.split(/[=;]/, 1)[0]!.trim() !== RETRY_MEMBER).join(',')
  return others.trim() === '' ? RETRY : `${RETRY},${others}`
}
