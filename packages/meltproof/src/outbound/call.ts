/**
 * One call to a dependency. Everything that sees calls reports here: the hooks on undici (undici.ts) and node:http
 * (node-http.ts), and the clients of databases. While calls are observed it is its own record, published at its end;
 * where it is bounded it has limits (limiter.ts). It knows no client.
 *
 *   begun -> its turn on a connection -> connected -> sent -> answered -> chunks of the body -> ended
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

/** What a client's configuration says of its server. It must hold no user name and no password. */
export interface DatabaseAddress {
  readonly host?: unknown
  readonly port?: unknown
  readonly database?: unknown
}

/** A shorter wait for a connection is not a queue, ms. */
const NO_QUEUE_MS = 0.5

/** Whether calls of the running code are observed, or are part of an attempt of retry(). */
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
  /** Calls are observed, and this one has not ended. */
  #recorded = calls.hasSubscribers
  #limiter: CallLimiter | undefined = undefined
  /** Of the request it is made for. */
  #chain: Chain | undefined = undefined
  /** Of retry(), that it is a part of. */
  #attempt: Attempt | undefined = undefined
  #refusal: Error | undefined = undefined
  #statedAtMs = Number.NaN
  /** When it had waited for its turn, and a connection was made for it; undefined where neither is known. */
  #turnAtMs: number | undefined
  #whole = false
  #ended = false

  /**
   * Begins an HTTP call; undefined when it is not observed, not bounded, and no part of an attempt of retry().
   * @param inLine it may have to wait for its turn on a connection, which {@link connecting} or {@link connected} ends
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

  /** It has a record, or an attempt of retry() learns from it, whether or not it is bounded. */
  get isFollowed(): boolean {
    return this.#recorded || this.#attempt !== undefined
  }

  get isBounded(): boolean {
    return this.#limiter !== undefined
  }

  get refusal(): Error | undefined {
    return this.#refusal
  }

  /** The turn that it waits for: it must not go out before. */
  get waitsFor(): CallTurn | undefined {
    const turn = this.#limiter?.turn
    return turn?.waits === true ? turn : undefined
  }

  /** Its caller ends it, which says nothing about the other side. */
  cancelled(): void {
    this.#limiter?.cancelled()
  }

  /** A connection is being made for it. */
  connecting(): void {
    this.#limiter?.connecting()
    if (!this.#recorded || this.#turnAtMs !== undefined) return
    this.#turnAtMs = now()
    this.#waitedUntil(this.#turnAtMs)
  }

  /**
   * It has a connection, and goes out.
   * @param made the connection was made for it; otherwise the call waited for its turn on one until now
   * @param whole nothing of the request is still to come from the caller
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

  /** The last of the request went out. One that was whole left at once; its event may come much later. */
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

  /** We do not read on for now. */
  paused(): void {
    this.#limiter?.paused()
  }

  get ended(): boolean {
    return this.#ended
  }

  /** It was given up; while `queued`, all the time was spent in its client's own pool. */
  fail(error: Error, queued: boolean): void {
    if (queued && this.#recorded) this.queuedMs = now() - this.startedAtMs
    this.end(error)
  }

  /** It is over for the caller. Any number of times. */
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

  /** Its record ends; its limits go on where a client sends it again, as a request of its own. */
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

  /** @param origin where it goes now: it may have been redirected */
  tells(origin: string): boolean {
    return this.#limiter?.tellsTo(origin) === true
  }

  /** Its header fields state more time than is left, because it has waited for its connection since. */
  get statesTooMuch(): boolean {
    return now() - this.#statedAtMs >= 1
  }

  /** The fields that a request to a tier of ours is still to have, or to have in the place of others. */
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
