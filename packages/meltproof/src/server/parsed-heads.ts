/**
 * Requests as Node's parser reports them, before a ServerResponse exists. Sees to their order on a connection, asks the
 * gate, and has those that start handed on to Node.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Decision } from '../admission/gate.ts'
import { sheds } from '../channels.ts'
import { now } from '../clock.ts'
import type { Connection } from './connection/connection.ts'
import type { Lines } from './connection/lines.ts'
import type { FailOpen } from './fail-open.ts'
import type { ServerGate } from './gate/server-gate.ts'
import type { Waiting } from './gate/waiting.ts'
import { Exchange } from './request/exchange.ts'
import { describeHead } from './request/request-head.ts'
import type { Shedding } from './shed/shedding.ts'

/** What a parsed head passes on its way. */
export interface HeadParts {
  readonly server: Server
  readonly gate: ServerGate
  readonly lines: Lines
  readonly shedding: Shedding
  readonly waiting: Waiting
  readonly failOpen: FailOpen
  /** Asks the gate, or notes what it would say. */
  readonly decide: (exchange: Exchange, nowMs: number) => Decision
  /** Hands a request on to Node. Answers what its parser expects. */
  readonly handOn: (connection: Connection, exchange: Exchange) => number
}

export class ParsedHeads {
  readonly #parts: HeadParts

  constructor(parts: HeadParts) {
    this.#parts = parts
  }

  /** A head was parsed. Answers what Node's parser expects: 0, or 2 for an upgrade. */
  parsed(connection: Connection, request: ParsedRequest, keepAlive: boolean): number {
    const { failOpen, lines, server, handOn } = this.#parts
    if (connection.closing) {
      connection.forget(request)
      return 0
    }
    if (request.upgrade) return this.#parsedUpgrade(connection, request, keepAlive)
    const exchange = new Exchange(request, connection, keepAlive, now())
    if (connection.hasLine) {
      // Pipelined behind one that waits: HTTP/1.1 answers in order.
      lines.join(connection, exchange)
      return 0
    }
    if (failOpen.isOpen) {
      connection.stopIdleTimeout(server)
      return connection.handOn(request, keepAlive)
    }
    return this.mayStart(connection, exchange) ? handOn(connection, exchange) : 0
  }

  /** Node decides on an upgrade, at once; one that nobody listens for comes back as a plain request through `emit`. */
  #parsedUpgrade(connection: Connection, request: ParsedRequest, keepAlive: boolean): number {
    const { failOpen, gate, server, waiting } = this.#parts
    // It would overtake requests that wait, and answers in the wrong order are answers to the wrong requests.
    if (connection.hasLine) waiting.shedLine(connection)
    if (connection.closing) {
      connection.forget(request)
      return 0
    }
    connection.stopIdleTimeout(server)
    const answer = connection.handOn(request, keepAlive)
    // Still true when somebody listens, whatever this Node answers its parser.
    if (request.upgrade) failOpen.guard(() => gate.permits.dropAllOf(connection))
    return answer
  }

  /**
   * A head was parsed and nothing made of it yet. Under a standing queue this is the usual shed: one write, and nothing
   * allocated for the request. False: the request is made, and comes to {@link parsed}.
   */
  refuse(connection: Connection, rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean {
    const { gate, failOpen, shedding } = this.#parts
    if (gate.refusesNobody) return false
    // Whoever listens to sheds gets their requests, so these are made then.
    if (failOpen.isOpen || !connection.quiet || sheds.hasSubscribers) return false
    try {
      const nowMs = now()
      const reason = gate.refuses(connection, rawHeaders, url, nowMs)
      if (reason === undefined) return false
      const needs = describeHead(rawHeaders)
      if (needs.bodyBytes > 0 || needs.expects || !needs.namesHost) return false
      gate.refused(nowMs)
      shedding.shedHead(connection, reason, needs, keepAlive, nowMs)
      return true
    } catch (error) {
      failOpen.fail(error)
      return false
    }
  }

  /** Asks the gate. A request that does not start waits, or is answered. */
  mayStart(connection: Connection, exchange: Exchange): boolean {
    const { decide, failOpen, lines, server, waiting } = this.#parts
    try {
      const decision = decide(exchange, exchange.arrivedAt)
      if (decision === 'wait') lines.wait(connection, exchange)
      else if (decision === 'start') connection.stopIdleTimeout(server)
      else waiting.shedNow(exchange, decision)
      return decision === 'start'
    } catch (error) {
      failOpen.fail(error)
      return true
    }
  }
}

/** Node marks a request that asks to change the protocol. */
type ParsedRequest = IncomingMessage & { upgrade?: boolean }
