/**
 * The handler of a request: run under a deadline, where requests have one, and with its timeline noted while somebody
 * observes. When it has ended, its permit ends; when its client has gone before, it works on for nobody and keeps it.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import type { Budget } from '../../deadline/budget.ts'
import type { Scope } from '../../scope.ts'
import type { Connection } from '../connection/connection.ts'
import { shadowHandlerEnded } from '../gate/dry-run.ts'
import type { ServerGate } from '../gate/server-gate.ts'
import type { Waiting } from '../gate/waiting.ts'
import { sendsEvents } from '../permit/streaming-responses.ts'
import type { Exchange } from '../request/exchange.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { observed, publishRecord } from '../response/observed.ts'
import { handlerHasEnded, onlyServedItsClient } from './outcome.ts'
import type { RequestDeadlines } from './request-deadlines.ts'

export interface HandlerParts {
  readonly server: Server
  readonly policy: RequestPolicy
  readonly deadlines: RequestDeadlines | undefined
  readonly gate: ServerGate
  readonly waiting: Waiting
  readonly connectionOf: (exchange: Exchange) => Connection | undefined
  /** The server's own `emit`. */
  readonly emit: (event: string, request: IncomingMessage, response: ServerResponse) => boolean
}

export class Handler {
  readonly #parts: HandlerParts

  constructor(parts: HandlerParts) {
    this.#parts = parts
  }

  /** Answers what `emit` answers. Exceptions of the app pass. */
  run(exchange: Exchange, event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const { deadlines, gate, policy } = this.#parts
    if (exchange.ungated && policy.answers?.(request, response) === true) return true
    if (deadlines === undefined) return this.#observe(exchange, event, request, response)
    let budget: Budget
    try {
      budget = deadlines.open(exchange, request, response, () => this.#answeredLate(exchange))
    } catch (error) {
      gate.failOpen.fail(error)
      return this.#observe(exchange, event, request, response)
    }
    return deadlines.run(budget, () => this.#observe(exchange, event, request, response))
  }

  #observe(exchange: Exchange, event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const { emit } = this.#parts
    const tells = this.#tellsTiming(request)
    let returned = false
    try {
      const handled =
        !tells && !requestsAreObserved()
          ? emit(event, request, response)
          : observed(exchange, request, response, tells, () => emit(event, request, response))
      returned = true
      return handled
    } finally {
      // Nobody will end the response: its permit ends when the client leaves.
      if (!returned) exchange.threw = true
    }
  }

  #tellsTiming(request: IncomingMessage): boolean {
    const { tellsTiming } = this.#parts.policy
    if (tellsTiming === undefined) return false
    try {
      return tellsTiming(request)
    } catch {
      return false // the session of an HTTP/2 client that has gone has no address any more
    }
  }

  /** Node has handed the request on, or answered it itself (no Host header, a 417). */
  handedOn(exchange: Exchange, connection: Connection): void {
    const { gate } = this.#parts
    const { response } = exchange
    if (response === undefined) {
      connection.overlapping?.delete(exchange)
      this.#ended(exchange, true, now())
    } else if (response.headersSent && gate.queued > 0 && sendsEvents(response)) {
      // When thousands of event sources connect at once, the next look for streams is too late.
      gate.failOpen.guard(() => gate.permits.record(exchange, now()))
    }
  }

  /** The response is closed. */
  closed(exchange: Exchange): void {
    const { connectionOf, gate, server, waiting } = this.#parts
    const nowMs = now()
    gate.activeAt = nowMs
    const { times } = exchange
    const connection = connectionOf(exchange)
    const pipelined = connection?.overlapping?.delete(exchange) === true
    if (times !== undefined) publishRecord(server, exchange, times, nowMs)
    if (waiting.gone(exchange) || exchange.abandoned) return
    if (handlerHasEnded(exchange, connection, pipelined)) {
      this.#ended(exchange, exchange.response?.headersSent === true, nowMs)
    } else if (onlyServedItsClient(exchange)) this.#ended(exchange, false, nowMs)
    else this.#abandon(exchange, times)
  }

  /** The client was told that its deadline has passed. */
  #answeredLate(exchange: Exchange): void {
    exchange.answeredLate = true
    if (exchange.uploadEnd !== undefined) exchange.uploadEnd.answeredLate = true
    this.#abandon(exchange, exchange.times)
  }

  /** Nobody waits for the answer any more, but the handler works on. */
  #abandon(exchange: Exchange, scope: Scope | undefined): void {
    const { failOpen, permits } = this.#parts.gate
    const working = exchange.uploadEnd ?? exchange
    if (working.abandoned || (working.shadow === undefined && !working.inService)) return
    const ended = (): void => this.#ended(working, false, now())
    failOpen.guard(() => permits.abandon(working, now(), scope, ended))
  }

  /** `answered`: with an answer of its own. */
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
