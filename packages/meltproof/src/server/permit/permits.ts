/**
 * The permits of a server: the one place in which they are given and end. A permit lasts as long as the handler works,
 * also when the client has gone (admission/in-service/abandoned.ts). While others wait, it is taken back early from requests that
 * merely flow at the pace of their client (streaming-responses.ts), and from stragglers (admission/in-service/stragglers.ts).
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
import { LinkedList } from '../linked-list.ts'
import type { Exchange } from '../request/exchange.ts'
import { flows, waitsForBody } from './streaming-responses.ts'

/** Permits that are not needed are looked for this often while somebody waits, ms. */
export const LOOK_MS = 5
/** Looking takes no more than this share of the time, unless it would be less often than every LOOK_MAX_MS. */
const LOOK_SHARE = 0.02
const LOOK_MAX_MS = 10
/** Handlers that are presumed to have ended are looked for no more often, ms. */
const PRESUME_MS = 10

export interface PermitHooks {
  readonly onRecorded: (exchange: Exchange, nowMs: number) => void
  readonly onUploadPaused: (exchange: Exchange) => void
  readonly onGone: (exchange: Exchange) => void
  readonly loopBusyMs: (() => number) | undefined
}

export class Permits {
  readonly #gate: Gate<Exchange>
  readonly #hooks: PermitHooks
  readonly #inService = new LinkedList<Exchange>()
  readonly #times = new ServiceTimes<Exchange>()
  readonly #abandoned = new Abandoned<Exchange>(this.#times)
  readonly #stragglers: Stragglers<Exchange>
  #lookAgainAt = 0
  #presumeAgainAt = 0

  constructor(gate: Gate<Exchange>, tuning: StragglerTuning, hooks: PermitHooks) {
    this.#gate = gate
    this.#hooks = hooks
    this.#stragglers = new Stragglers(this.#times, tuning)
  }

  get abandoned(): number {
    return this.#abandoned.count
  }

  get stragglers(): number {
    return this.#stragglers.count
  }

  /** The least time in which a request of this kind is answered, ms; 0 where nothing is known or none is in service. */
  leastServiceMs(kind: number): number {
    return this.#times.leastMs(kind)
  }

  give(exchange: Exchange, nowMs: number): void {
    if (this.#abandoned.count > 0) this.#endPresumed(nowMs)
    exchange.holdPermit(nowMs)
    this.#inService.add(exchange)
    this.#times.started(exchange, exchange.kindNoted)
    if (exchange.abandoned) this.#abandoned.add(exchange, nowMs)
  }

  record(exchange: Exchange, nowMs: number): void {
    const was = this.#end(exchange)
    if (was === undefined) return
    if (exchange.abandoned) this.#abandoned.ended(exchange, nowMs)
    if (was === 'held') {
      this.#times.answered(exchange, nowMs)
      this.#gate.release(nowMs, nowMs - exchange.startedAt, exchange)
    }
    this.#hooks.onRecorded(exchange, nowMs)
  }

  /** It is over without an answer of its handler's. Does nothing when its permit has ended. */
  drop(exchange: Exchange, nowMs: number): void {
    if (exchange.abandoned) this.#abandoned.ended(exchange, nowMs)
    this.#drop(exchange, nowMs)
  }

  #drop(exchange: Exchange, nowMs: number): void {
    if (this.#end(exchange) !== 'held') return
    this.#times.gone(exchange)
    this.#gate.drop(nowMs, nowMs - exchange.startedAt, exchange)
  }

  #end(exchange: Exchange): 'held' | 'lent' | undefined {
    const was = exchange.endPermit()
    if (was === 'held') this.#inService.delete(exchange)
    else if (was === 'lent') this.#stragglers.ended(exchange)
    return was
  }

  /**
   * Nobody waits for its answer any more: it keeps its permit. `onEnd` is called when its handler is seen to end. While
   * requests are observed, a call that its handler makes shows that it is at work.
   */
  abandon(exchange: Exchange, nowMs: number, scope: Scope | undefined, onEnd: () => void): void {
    exchange.abandoned = true
    const calls = scope && ((): boolean => (scope.openCalls?.size ?? 0) > 0 && requestsAreObserved())
    if (exchange.inService) this.#abandoned.add(exchange, nowMs, calls)
    if (exchange.holdsPermit) this.#gate.gaveUp(exchange)
    if (exchange.response !== undefined) watchEnd(exchange.response, onEnd)
    if (onHandlerEnd(exchange.request, onEnd)) onEnd()
  }

  dropAllOf(connection: Connection<Exchange>): void {
    const nowMs = now()
    for (const exchange of this.#inService.find(each => each.connection === connection)) this.drop(exchange, nowMs)
    for (const exchange of this.#stragglers.going) if (exchange.connection === connection) this.drop(exchange, nowMs)
  }

  /** Takes back permits that are not needed. Called while somebody waits for one. */
  makeRoom(nowMs: number): void {
    this.lookAround(nowMs)
    this.#releaseStragglers(nowMs)
  }

  #endPresumed(nowMs: number): void {
    if (nowMs < this.#presumeAgainAt) return
    this.#presumeAgainAt = nowMs + PRESUME_MS
    const { limit } = this.#gate
    for (const exchange of this.#abandoned.takePresumedOver(nowMs, limit)) this.#drop(exchange, nowMs)
  }

  /** Ends the permits of requests that merely flow, and of those that ended unseen. */
  lookAround(nowMs: number): void {
    if (nowMs < this.#lookAgainAt) return
    this.#endPresumed(nowMs)
    for (const exchange of this.#inService.find(each => endedUnseen(each) || flows(each, nowMs - each.startedAt))) {
      if (endedUnseen(exchange)) this.#hooks.onGone(exchange)
      else if (exchange.response?.headersSent === true) this.record(exchange, nowMs)
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
    for (const exchange of this.#inService.find(handlerRuns, each => stragglers.tooShort(each))) {
      if (exchange.abandoned) continue
      // What its handler does with the body is still to come.
      if (waitsForBody(exchange.request)) this.#times.again(exchange, nowMs)
      if (!stragglers.has(exchange)) continue
      if (stragglers.full) return
      this.#inService.delete(exchange)
      exchange.lendPermit()
      stragglers.goesOn(exchange)
      this.#gate.goOn(nowMs, nowMs - exchange.startedAt, exchange)
    }
  }
}

/** Not the shadow of one whose handler has ended. */
const handlerRuns = ({ shadow }: Exchange): boolean => shadow === undefined || shadow.tookMs < 0

/** The app has taken the connection from Node (`detachSocket`), or has removed our listeners. */
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
