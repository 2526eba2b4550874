/** Runs a request's handler under its deadline. The permit ends with the handler, also when the client left before. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { runInChain } from '../../chain.ts'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import { runWithBudget } from '../../deadline/context.ts'
import type { Scope } from '../../record.ts'
import { requestContext } from '../../signals/named-stalls.ts'
import type { Connection } from '../connection/connection.ts'
import { shadowHandlerEnded } from '../gate/dry-run.ts'
import type { ServerGate } from '../gate/server-gate.ts'
import type { Waiting } from '../gate/waiting.ts'
import type { Exchange } from '../request/exchange.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { mute } from '../response/muted-response.ts'
import { requestObserver, type Source } from '../response/observer.ts'
import type { OwnAnswers } from '../response/own-answers.ts'
import { chainOf } from './chain-of.ts'
import { handlerHasEnded } from './outcome.ts'
import { openBudget, type RequestDeadline } from './request-deadline.ts'

export interface HandlerParts {
  readonly source: Source
  readonly policy: RequestPolicy
  readonly deadline: RequestDeadline | undefined
  readonly answers: OwnAnswers
  readonly gate: ServerGate
  readonly waiting: Waiting
  readonly connectionOf: (exchange: Exchange) => Connection<Exchange> | undefined
  readonly emit: (event: string, request: IncomingMessage, response: ServerResponse) => boolean
}

export class Handler {
  readonly #parts: HandlerParts

  constructor(parts: HandlerParts) {
    this.#parts = parts
  }

  run(exchange: Exchange, event: string): boolean {
    const { policy } = this.#parts
    const { request, response } = exchange
    if (exchange.ungated && policy.answers?.(request, response!) === true) return true
    const chain = chainOf(request, response!, policy)
    if (chain !== undefined) return runInChain(chain, () => this.#runInTime(exchange, event))
    return this.#runInTime(exchange, event)
  }

  #runInTime(exchange: Exchange, event: string): boolean {
    const { deadline, gate } = this.#parts
    const { request, response } = exchange
    if (deadline === undefined) return this.#observe(exchange, event)
    try {
      exchange.budget = openBudget(deadline, exchange, response!, () => this.#answerLate(exchange, request, response!))
    } catch (error) {
      gate.failOpen.fail(error)
      return this.#observe(exchange, event)
    }
    return runWithBudget(exchange.budget, () => this.#observe(exchange, event))
  }

  #observe(exchange: Exchange, event: string): boolean {
    const { policy } = this.#parts
    const { request } = exchange
    const response = exchange.response!
    const tells = policy.tellsTiming?.(request) === true
    policy.tellsLoad?.(request, response)
    let returned = false
    try {
      const observer = tells || requestsAreObserved() ? requestObserver() : undefined
      const handled =
        observer === undefined
          ? this.#emit(event, request, response)
          : observer.run(exchange, request, response, tells, () => this.#emit(event, request, response))
      returned = true
      return handled
    } finally {
      // Nobody will end the response: its permit ends when the client leaves.
      if (!returned) exchange.threw = true
    }
  }

  #emit(event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const { emit } = this.#parts
    const context = requestContext()
    if (context === undefined) return emit(event, request, response)
    return context(request, () => emit(event, request, response))
  }

  handedOn(exchange: Exchange, connection: Connection<Exchange>): void {
    const { gate } = this.#parts
    const { response } = exchange
    if (response === undefined) {
      connection.overlapping?.delete(exchange)
      this.#ended(exchange, true, now())
    } else if (response.headersSent && gate.queued > 0 && exchange.inService) {
      gate.failOpen.guard(() => gate.permits.begun(exchange, now()))
    }
  }

  closed(exchange: Exchange): void {
    const { connectionOf, gate, source, waiting } = this.#parts
    const nowMs = now()
    gate.activeAt = nowMs
    const { times } = exchange
    const connection = connectionOf(exchange)
    if (connection?.current === exchange) connection.current = undefined
    const pipelined = connection?.overlapping?.delete(exchange) === true
    if (times !== undefined) requestObserver()?.publish(source, exchange, nowMs)
    if (waiting.gone(exchange) || exchange.abandoned) return
    if (handlerHasEnded(exchange, connection, pipelined)) {
      this.#ended(exchange, exchange.response?.headersSent === true, nowMs)
    } else this.#abandon(exchange, times)
  }

  connectionTaken(exchange: Exchange): void {
    if (exchange.response?.writableEnded !== true) this.#abandon(exchange, exchange.times)
    else this.#ended(exchange, true, now())
  }

  #answerLate(exchange: Exchange, request: IncomingMessage, response: ServerResponse): void {
    this.#parts.answers.late(request, response)
    mute(response)
    exchange.answeredLate = true
    if (exchange.uploadEnd !== undefined) exchange.uploadEnd.answeredLate = true
    this.#abandon(exchange, exchange.times)
  }

  #abandon(exchange: Exchange, scope: Scope | undefined): void {
    const { failOpen, permits } = this.#parts.gate
    const working = exchange.uploadEnd ?? exchange
    if (working.abandoned) return
    const ended = (): void => this.#ended(working, false, now())
    failOpen.guard(() => permits.abandon(working, now(), scope, ended))
  }

  #ended(exchange: Exchange, answered: boolean, nowMs: number): void {
    const { gate } = this.#parts
    exchange.budget?.settle()
    if (exchange.shadow !== undefined) {
      shadowHandlerEnded(exchange, nowMs, gate)
      return
    }
    // Once a request: not worth a closure for guard().
    try {
      if (answered) gate.permits.record(exchange, nowMs)
      else gate.permits.drop(exchange, nowMs)
    } catch (error) {
      gate.failOpen.fail(error)
    }
  }
}
