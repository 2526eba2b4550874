/**
 * The permits of a server. A permit lasts as long as the handler works, also when the client has gone. While others wait,
 * it is taken back early from requests that wait for their client or for events (open-streams.ts).
 */
import type { ServerResponse } from 'node:http'
import type { Gate } from '../../admission/gate.ts'
import type { Orphan } from '../../admission/in-service/permit.ts'
import { type PermitHooks, Permits } from '../../admission/in-service/permits.ts'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import { onHandlerEnd } from '../../request-notes.ts'
import type { Scope } from '../../record.ts'
import type { Connection } from '../connection/connection.ts'
import type { Exchange } from '../request/exchange.ts'
import { OpenStreams } from './open-streams.ts'
import { ReachableRequests } from './reachable-requests.ts'
import { hasEnded, streams, waitsForBody } from './streaming-responses.ts'

/** Looking takes no more than this share of the time, unless it would be less often than every LOOK_MAX_MS. */
const LOOK_SHARE = 0.02
const LOOK_MAX_MS = 50
/** A request whose handler waits for its body for so long is an upload at the pace of its client, ms. */
const UPLOAD_AFTER_MS = 20

export interface RequestPermitHooks extends Required<PermitHooks<Exchange>> {
  readonly onUploadPaused: (exchange: Exchange) => void
  readonly onGone: (exchange: Exchange) => void
  /** Runs what must not fail into the app. */
  readonly guarded: (act: () => void) => void
}

export class RequestPermits extends Permits<Exchange> {
  readonly #hooks: RequestPermitHooks
  readonly #streams = new OpenStreams()
  readonly #reachable = new ReachableRequests(orphan => this.#hooks.guarded(() => this.collected(orphan, now())))
  #lookAgainAt = 0

  constructor(gate: Gate<Exchange>, hooks: RequestPermitHooks) {
    super(gate, hooks)
    this.#hooks = hooks
  }

  /**
   * No client waits for its answer any more: its permit lasts until its handler is seen to end, when `onEnd` is called, or
   * until nothing refers to the request. While requests are observed, a call that its handler makes shows that it works.
   */
  abandon(exchange: Exchange, nowMs: number, scope: Scope | undefined, onEnd: () => void): void {
    const { request, response } = exchange
    const isDoubted = this.#streams.gone(exchange)
    if (!isDoubted && exchange.shadow === undefined && !exchange.inService) return
    if (!isDoubted && this.#streams.isFeed(exchange)) {
      this.drop(exchange, nowMs)
      return
    }
    const isAtWork = scope && ((): boolean => (scope.openCalls?.size ?? 0) > 0 && requestsAreObserved())
    if (isDoubted) this.giveUpLent(exchange, nowMs, { isAtWork })
    else this.giveUp(exchange, nowMs, { isAtWork, servedClient: servedClient(exchange) })
    if (response !== undefined) watchEnd(response, onEnd)
    if (onHandlerEnd(request, onEnd)) onEnd()
  }

  protected override orphaned(exchange: Exchange, orphan: Orphan): void {
    this.#reachable.watch(exchange, orphan)
  }

  protected override get doubtedElsewhere(): number {
    return this.#streams.doubted
  }

  override record(exchange: Exchange, nowMs: number): void {
    this.#streams.ended(exchange)
    super.record(exchange, nowMs)
  }

  override drop(exchange: Exchange, nowMs: number): void {
    this.#streams.gone(exchange)
    super.drop(exchange, nowMs)
  }

  /** Those that came over a connection, with a permit or without. */
  of(connection: Connection<Exchange>): Exchange[] {
    const all = [this.inService, this.#streams.resting]
    return all.flatMap(each => [...each].filter(exchange => exchange.connection === connection))
  }

  /** It has begun within its first turn. When thousands of event sources connect at once, the next look is too late. */
  begun(exchange: Exchange, nowMs: number): void {
    if (streams(exchange) && !hasEnded(exchange.response!)) this.#lookAtStream(exchange, nowMs)
  }

  /** Takes the permits of requests that wait for their client or for events, and of those that ended unseen. */
  override reclaim(nowMs: number): void {
    if (nowMs < this.#lookAgainAt) return
    super.reclaim(nowMs)
    for (const exchange of this.#streams.atWorkAgain(nowMs)) this.#takeAgain(exchange, nowMs)
    for (const exchange of this.inService) this.#look(exchange, nowMs)
    const tookMs = now() - nowMs
    this.#lookAgainAt = nowMs + Math.min(LOOK_MAX_MS, Math.max(1, tookMs / LOOK_SHARE))
  }

  #look(exchange: Exchange, nowMs: number): void {
    const { request, response, startedAt } = exchange
    if (endedUnseen(exchange)) this.#hooks.onGone(exchange)
    else if (streams(exchange)) this.#lookAtStream(exchange, nowMs)
    else if (response?.headersSent !== true && nowMs - startedAt >= UPLOAD_AFTER_MS && waitsForBody(request)) {
      this.#hooks.onUploadPaused(exchange)
      this.drop(exchange, nowMs)
    }
  }

  #lookAtStream(exchange: Exchange, nowMs: number): void {
    const streams = this.#streams
    const gives = hasEnded(exchange.response!) ? 'for good' : streams.givesBack(exchange, nowMs, this.mayDoubt)
    if (gives === 'for good') this.record(exchange, nowMs)
    else if (gives === 'again') {
      this.goOn(exchange, nowMs)
      this.times.gone(exchange)
      streams.rest(exchange)
    }
  }

  /** It is at work already: others wait until there is room for them. */
  #takeAgain(exchange: Exchange, nowMs: number): void {
    this.#streams.goOn(exchange)
    this.gate.enter(nowMs, exchange)
    this.hold(exchange, nowMs)
  }

  protected override release(exchange: Exchange, nowMs: number): void {
    if (exchange.stream?.rested !== true) {
      super.release(exchange, nowMs)
      return
    }
    // Since it has its permit again is not what it took.
    this.times.gone(exchange)
    this.gate.goOn(nowMs, nowMs - exchange.startedAt, exchange)
  }

  protected override endedLent(exchange: Exchange): void {
    this.#streams.resting.delete(exchange)
  }
}

/** The app has taken the connection from Node (`detachSocket`), or has removed our listeners. */
function endedUnseen(exchange: Exchange): boolean {
  const { connection, response, abandoned } = exchange
  if (connection === undefined || response === undefined || abandoned) return false
  if (response.writableFinished || connection.socket.destroyed) return true
  // One that is pipelined behind another has no connection yet.
  return response.socket === null && connection.overlapping?.has(exchange) !== true
}

/** It streams into the response, or reads a body that will not come: that ends with its client, and often without a word. */
function servedClient({ request, response }: Exchange): boolean {
  return response?.headersSent === true ? response.listenerCount('unpipe') > 0 : waitsForBody(request)
}

/** Calls `ended` when the handler ends or destroys a response that nobody waits for any more. */
function watchEnd(response: ServerResponse, ended: () => void): void {
  const methods = response as unknown as Record<'end' | 'destroy', (...args: unknown[]) => unknown>
  for (const name of ['end', 'destroy'] as const) {
    const original = methods[name]
    methods[name] = function (...args) {
      ended()
      return original.apply(this, args)
    }
  }
}
