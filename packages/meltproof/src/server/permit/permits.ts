/**
 * The permits of a server. A permit lasts as long as the handler works, also when the client has gone. While others wait,
 * it is taken back early from requests that merely flow at the pace of their client (streaming-responses.ts).
 */
import type { ServerResponse } from 'node:http'
import type { Gate } from '../../admission/gate.ts'
import { Permits } from '../../admission/in-service/permits.ts'
import type { StragglerTuning } from '../../admission/in-service/stragglers.ts'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import { onHandlerEnd } from '../../handler-end.ts'
import type { Scope } from '../../scope.ts'
import type { Connection } from '../connection/connection.ts'
import type { Exchange } from '../request/exchange.ts'
import { flows, waitsForBody } from './streaming-responses.ts'

/** Looking takes no more than this share of the time, unless it would be less often than every LOOK_MAX_MS. */
const LOOK_SHARE = 0.02
const LOOK_MAX_MS = 10

export interface RequestPermitHooks {
  readonly onRecorded: (exchange: Exchange, nowMs: number) => void
  readonly onUploadPaused: (exchange: Exchange) => void
  readonly onGone: (exchange: Exchange) => void
  readonly loopBusyMs: (() => number) | undefined
}

export class RequestPermits extends Permits<Exchange> {
  readonly #hooks: RequestPermitHooks
  #lookAgainAt = 0

  constructor(gate: Gate<Exchange>, tuning: StragglerTuning, hooks: RequestPermitHooks) {
    super(gate, tuning, hooks)
    this.#hooks = hooks
  }

  /**
   * Nobody waits for its answer any more: it keeps its permit. `onEnd` is called when its handler is seen to end. While
   * requests are observed, a call that its handler makes shows that it is at work.
   */
  abandon(exchange: Exchange, nowMs: number, scope: Scope | undefined, onEnd: () => void): void {
    this.giveUp(exchange, nowMs, scope && ((): boolean => scope.openCalls > 0 && requestsAreObserved()))
    if (exchange.response !== undefined) watchEnd(exchange.response, onEnd)
    if (onHandlerEnd(exchange.request, onEnd)) onEnd()
  }

  dropAllOf(connection: Connection<Exchange>): void {
    const nowMs = now()
    for (const exchange of this.inService.find(each => each.connection === connection)) this.drop(exchange, nowMs)
    for (const exchange of this.stragglers.going) if (exchange.connection === connection) this.drop(exchange, nowMs)
  }

  /** Ends the permits of requests that merely flow, and of those that ended unseen. */
  override lookAround(nowMs: number): void {
    if (nowMs < this.#lookAgainAt) return
    super.lookAround(nowMs)
    for (const exchange of this.inService.find(each => endedUnseen(each) || flows(each, nowMs - each.startedAt))) {
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

  protected override mayStraggle(exchange: Exchange, nowMs: number): boolean {
    const { abandoned, request, shadow } = exchange
    // Not the shadow of one whose handler has ended.
    if (abandoned || (shadow !== undefined && shadow.tookMs >= 0)) return false
    // What its handler does with the body is still to come.
    if (waitsForBody(request)) this.times.again(exchange, nowMs)
    return true
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
