/**
 * The permits of a server: who holds one, and the one place in which a permit ends. A permit ends once, in one of two
 * ways: its request was answered, or it is dropped, and then says nothing about what the service can do.
 *
 * A permit lasts as long as the handler works. Where the client leaves before, or has been told that the deadline has
 * passed, the handler works on and the permit stays with it (admission/abandoned.ts).
 *
 * While others wait, permits are taken back early from those who do not need them: answers that are streamed at their
 * client's pace and uploads that come at it (flows.ts), and stragglers (admission/stragglers.ts).
 */
import type { ServerResponse } from 'node:http'
import { Abandoned } from '../../admission/in-service/abandoned.ts'
import type { Gate } from '../../admission/gate.ts'
import { Stragglers, type StragglerTuning } from '../../admission/in-service/stragglers.ts'
import { ServiceTimes } from '../../admission/in-service/service-times.ts'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import { onHandlerEnd } from '../../handler-end.ts'
import type { Scope } from '../../scope.ts'
import type { Connection } from '../connection/connection.ts'
import type { Exchange } from '../request/exchange.ts'
import { flows, waitsForBody } from './streaming-responses.ts'
import { InService } from './in-service.ts'

/**
 * Permits that are not needed are looked for this often while somebody waits, ms, or less often where looking would take
 * a larger share of the time.
 */
export const LOOK_MS = 5
const LOOK_SHARE = 0.02
const LOOK_MAX_MS = 10
/** Those who are presumed to have ended are looked for no more often, ms. */
const PRESUME_MS = 10

export interface PermitHooks {
  readonly onAnswered: (exchange: Exchange, nowMs: number) => void
  /** An upload whose client is slow is about to lose its permit: its handler must have one again for what comes after. */
  readonly onUploadPaused: (exchange: Exchange) => void
  /** A request is over, and nobody else will tell: what its closed response would have told. */
  readonly onGone: (exchange: Exchange) => void
  /** For how long the loop has been busy, ever, ms; where it is absent stragglers keep their permits. */
  readonly loopBusyMs: (() => number) | undefined
}

export class Permits {
  readonly #gate: Gate<Exchange>
  readonly #hooks: PermitHooks
  readonly #inService = new InService()
  readonly #stays = new ServiceTimes<Exchange>()
  readonly #abandoned = new Abandoned<Exchange>(this.#stays)
  readonly #stragglers: Stragglers<Exchange>
  #lookAgainAt = 0
  #presumeAgainAt = 0

  constructor(gate: Gate<Exchange>, tuning: StragglerTuning, hooks: PermitHooks) {
    this.#gate = gate
    this.#hooks = hooks
    this.#stragglers = new Stragglers(this.#stays, tuning)
  }

  /** How many handlers work on for clients that have left or were told that their deadline has passed. */
  get abandoned(): number {
    return this.#abandoned.count
  }

  /** How many go on without a permit because they take far longer than others of their kind. */
  get stragglers(): number {
    return this.#stragglers.count
  }

  /** The least time in which a request of this kind is answered, ms; 0 where nothing is known or none is in service. */
  leastServiceMs(kind: number): number {
    return this.#stays.leastMs(kind)
  }

  /** It holds a permit, or goes on without one (admission/stragglers.ts). */
  has(exchange: Exchange): boolean {
    return exchange.holdsPermit || this.#stragglers.goes(exchange)
  }

  /** The gate has let it in. */
  take(exchange: Exchange, nowMs: number): void {
    if (this.#abandoned.count > 0) this.#endPresumed(nowMs)
    exchange.startedAt = nowMs
    exchange.holdsPermit = true
    this.#inService.add(exchange)
    this.#stays.started(exchange, exchange.kindNoted)
    if (exchange.abandoned) this.#abandoned.add(exchange, nowMs)
  }

  /** It was answered. Does nothing when it holds no permit. */
  answered(exchange: Exchange, nowMs: number): void {
    const straggler = this.#stragglers.ended(exchange)
    if (!straggler && !exchange.holdsPermit) return
    if (exchange.abandoned) this.#abandoned.ended(exchange, nowMs)
    if (!straggler) {
      this.#giveBack(exchange)
      this.#stays.answered(exchange, nowMs)
      this.#gate.release(nowMs, nowMs - exchange.startedAt, exchange)
    }
    this.#hooks.onAnswered(exchange, nowMs)
  }

  /** It is over without an answer of its handler's. Does nothing when it holds no permit. */
  drop(exchange: Exchange, nowMs: number): void {
    if (exchange.abandoned) this.#abandoned.ended(exchange, nowMs)
    this.#release(exchange, nowMs)
  }

  #release(exchange: Exchange, nowMs: number): void {
    this.#stragglers.ended(exchange)
    if (!exchange.holdsPermit) return
    this.#giveBack(exchange)
    this.#stays.gone(exchange)
    this.#gate.drop(nowMs, nowMs - exchange.startedAt, exchange)
  }

  /**
   * Nobody waits for its answer any more: it keeps its permit. `onEnd` is called when its handler is seen to end. While
   * requests are observed, a call of its handler that is under way tells that it is at work.
   */
  abandon(exchange: Exchange, nowMs: number, scope: Scope | undefined, onEnd: () => void): void {
    exchange.abandoned = true
    const calls = scope && ((): boolean => scope.openCalls > 0 && requestsAreObserved())
    if (this.has(exchange)) this.#abandoned.add(exchange, nowMs, calls)
    if (exchange.holdsPermit) this.#gate.gaveUp(exchange)
    if (exchange.response !== undefined) watchEnd(exchange.response, onEnd)
    if (onHandlerEnd(exchange.request, onEnd)) onEnd()
  }

  /** Those that were in service on a connection which is somebody else's now are over, as far as we can ever know. */
  dropAllOf(connection: Connection): void {
    const nowMs = now()
    for (const exchange of this.#inService.find(each => each.connection === connection)) this.drop(exchange, nowMs)
    for (const exchange of this.#stragglers.going) if (exchange.connection === connection) this.drop(exchange, nowMs)
  }

  /** Takes permits back that are not needed. To be called while somebody waits for one. */
  makeRoom(nowMs: number): void {
    this.lookAround(nowMs)
    this.#releaseStragglers(nowMs)
  }

  #endPresumed(nowMs: number): void {
    if (nowMs < this.#presumeAgainAt) return
    this.#presumeAgainAt = nowMs + PRESUME_MS
    const { limit } = this.#gate
    for (const exchange of this.#abandoned.takePresumedOver(nowMs, limit)) this.#release(exchange, nowMs)
  }

  /** Sees to it that whoever merely streams, or ended unseen, is not counted as in service. */
  lookAround(nowMs: number): void {
    if (nowMs < this.#lookAgainAt) return
    this.#endPresumed(nowMs)
    for (const exchange of this.#inService.find(each => endedUnseen(each) || flows(each, nowMs - each.startedAt))) {
      if (endedUnseen(exchange)) this.#hooks.onGone(exchange)
      else if (exchange.response?.headersSent === true) this.answered(exchange, nowMs)
      else {
        this.#hooks.onUploadPaused(exchange)
        this.drop(exchange, nowMs)
      }
    }
    const tookMs = now() - nowMs
    this.#lookAgainAt = nowMs + Math.min(LOOK_MAX_MS, Math.max(1, tookMs / LOOK_SHARE))
  }

  #releaseStragglers(nowMs: number): void {
    const { loopBusyMs } = this.#hooks
    const stragglers = this.#stragglers
    if (loopBusyMs === undefined || !stragglers.look(nowMs, loopBusyMs())) return
    for (const exchange of this.#inService.find(isReal, each => stragglers.tooShort(each))) {
      if (exchange.abandoned) continue
      // What its handler does with the body is still to come (flows.ts).
      if (waitsForBody(exchange.request)) this.#stays.again(exchange, nowMs)
      if (!stragglers.has(exchange)) continue
      if (stragglers.full) return
      this.#giveBack(exchange)
      stragglers.goesOn(exchange)
      this.#gate.goOn(nowMs, nowMs - exchange.startedAt, exchange)
    }
  }

  #giveBack(exchange: Exchange): void {
    exchange.holdsPermit = false
    this.#inService.delete(exchange)
  }
}

/** Not the stand-in of one that is over. */
const isReal = ({ tookMs }: Exchange): boolean => tookMs < 0

/**
 * Nobody will tell that it is over: the app has taken the connection from Node (`detachSocket`), or has removed the
 * listeners that would have told.
 */
function endedUnseen(exchange: Exchange): boolean {
  const { connection, response, abandoned } = exchange
  if (connection === undefined || response === undefined || abandoned) return false
  if (response.writableFinished || connection.socket.destroyed) return true
  // One that is pipelined behind another has no connection yet.
  return response.socket === null && connection.overlapping?.has(exchange) !== true
}

/** Calls `ended` when the handler ends or destroys a response that nobody waits for any more. */
function watchEnd(response: ServerResponse, ended: () => void): void {
  for (const name of ['end', 'destroy'] as const) {
    const original = response[name] as (...args: unknown[]) => unknown
    Object.defineProperty(response, name, {
      configurable: true,
      writable: true,
      value(this: ServerResponse, ...args: unknown[]): unknown {
        ended()
        return original.apply(this, args)
      },
    })
  }
}
