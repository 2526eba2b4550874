/**
 * Turns requests away: the one place that counts them and writes their answers. On the parser's way an answer is one write
 * of ready bytes; where Node has other answers of the connection under way it goes through Node's own response. While
 * turning away takes more than its share of the loop's time, answers are put off (held-answers.ts).
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { ShedReason } from '../../admission/shed-reason.ts'
import type { TurningAwayTime } from '../../admission/turning-away.ts'
import { sheds } from '../../channels.ts'
import { httpDate, now } from '../../clock.ts'
import { loopTurn } from '../../signals/loop-turn.ts'
import type { Connection } from '../connection/connection.ts'
import type { Exchange } from '../request/exchange.ts'
import type { LastShed } from '../operate/explanation.ts'
import { HeldAnswers, MOST_HELD_MS } from './held-answers.ts'
import { endAfter, endConnection } from '../connection/last-of-connection.ts'
import type { Lines } from '../connection/lines.ts'
import { describeHead, type HeadNeeds } from '../request/request-head.ts'
import type { AnswerChoice, ShedAnswers } from './shed-answer.ts'

/** Bodies up to this are read and dropped after a shed and the connection kept; bytes. */
const DROPPABLE_BODY = 65_536

export interface SheddingHooks {
  /** Has Node make a response for the request and come back with it (to {@link Shedding.throughNode}), or refuse it itself. */
  readonly askNode: (exchange: Exchange) => void
  /** A request was turned away. */
  readonly onShed: () => void
  /** What is known at this moment. */
  readonly facts: Omit<LastShed, 'reason' | 'atMs'>
  /** Runs what must not fail into the app. */
  readonly guarded: (act: () => void) => void
}

export class Shedding {
  readonly counts: Record<ShedReason, number> = {
    standing: 0,
    stale: 0,
    late: 0,
    full: 0,
    deadline: 0,
    closing: 0,
    memory: 0,
    upgrade: 0,
  }
  /** Answers that begin now are the last ones of their connections. */
  leaving = false
  readonly #server: Server
  readonly #answers: ShedAnswers
  readonly #lines: Lines
  readonly #time: TurningAwayTime
  readonly #held: HeldAnswers
  readonly #hooks: SheddingHooks
  /** No answer is put off: something comes behind it that can not wait, or the server goes away. */
  #atOnce = false
  #last: { -readonly [K in keyof LastShed]: LastShed[K] } | undefined

  constructor(server: Server, answers: ShedAnswers, lines: Lines, time: TurningAwayTime, hooks: SheddingHooks) {
    this.#server = server
    this.#answers = answers
    this.#lines = lines
    this.#time = time
    this.#hooks = hooks
    this.#held = new HeldAnswers(time, connection => hooks.guarded(() => this.answerOwed(connection)))
  }

  get last(): LastShed | undefined {
    return this.#last
  }

  /** From now on every answer is given at once, and those that were put off as well. */
  putOffNothing(): void {
    this.#atOnce = true
    this.#held.end()
  }

  /** The same while `act` runs. */
  atOnce(act: () => void): void {
    const before = this.#atOnce
    this.#atOnce = true
    try {
      act()
    } finally {
      this.#atOnce = before
    }
  }

  /** A request of which nothing was made yet: one write, and nothing allocated for it. */
  shedHead(connection: Connection, reason: ShedReason, needs: HeadNeeds, keepAlive: boolean, nowMs: number): void {
    this.count(reason, nowMs)
    this.#write(
      connection,
      { html: needs.prefersHtml, head: false, keepAlive: keepAlive && !this.leaving },
      nowMs,
      true,
    )
  }

  /** Answers false when Node refuses the request itself, which is no shed. */
  shed(exchange: Exchange, reason: ShedReason): boolean {
    const needs = describeHead(exchange.request.rawHeaders)
    const isShed = !this.refusedByNode(exchange, needs)
    if (isShed) this.count(reason, now())
    const bytes = this.#answer(exchange, needs)
    if (isShed) this.publish(exchange, reason, bytes)
    return isShed
  }

  count(reason: ShedReason, nowMs: number): void {
    this.counts[reason]++
    this.#hooks.onShed()
    this.#last ??= { reason, atMs: nowMs, inflight: 0, limit: 0, queued: 0 }
    const last = this.#last
    const { facts } = this.#hooks
    last.reason = reason
    last.atMs = nowMs
    last.inflight = facts.inflight
    last.limit = facts.limit
    last.queued = facts.queued
  }

  publish({ request, arrivedAt }: Exchange, reason: ShedReason, bytes: number): void {
    if (!sheds.hasSubscribers) return
    const atMs = now()
    sheds.publish({ record: { atMs, reason, waitedMs: atMs - arrivedAt, bytes }, server: this.#server, request })
  }

  /** Whether Node answers it with a 400 before anybody sees it: it names no host (RFC 9112 section 3.2). */
  refusedByNode({ connection, request }: Exchange, { namesHost }: HeadNeeds): boolean {
    const { requireHostHeader } = this.#server as { requireHostHeader?: boolean }
    return connection !== undefined && !namesHost && request.httpVersion === '1.1' && requireHostHeader !== false
  }

  /** The slower way, through Node's own response. Returns the bytes of the body. */
  throughNode(exchange: Exchange, response: ServerResponse): number {
    const { request } = exchange
    const needs = describeHead(request.rawHeaders)
    const { headers, body } = this.#answers.parts(needs.prefersHtml)
    const keeps = response.shouldKeepAlive && keepsConnection(needs, request)
    if (!keeps && request.httpVersionMajor < 2) endAfter(request, response)
    response.writeHead(503, headers)
    response.end(body)
    return this.#answers.bodyBytes({ html: needs.prefersHtml, head: request.method === 'HEAD' })
  }

  /** Gives a connection the answer that was put off. */
  answerOwed(connection: Connection): void {
    const { owed, socket } = connection
    if (owed === undefined) return
    connection.owed = undefined
    const last = this.leaving && connection.behind.length === 0
    this.#lines.move(connection)
    if (socket.destroyed || !socket.writable) return
    this.#writeNow(connection, last ? { ...owed, keepAlive: false } : owed, now(), false)
  }

  /** Returns the bytes of the body. */
  #answer(exchange: Exchange, needs: HeadNeeds): number {
    const { connection, request, response } = exchange
    if (connection === undefined) return response === undefined ? 0 : this.throughNode(exchange, response)
    const { socket } = connection
    if (socket.destroyed || !socket.writable) return 0
    const head = request.method === 'HEAD'
    const html = needs.prefersHtml
    const last = this.leaving && connection.behind.length === 0
    const keepAlive = exchange.keepAlive && !last && keepsConnection(needs, request)
    // Another answer is still being written on this connection, or the client does not read: Node keeps the order.
    // And what it refuses is no shed.
    if (socket._httpMessage != null || socket.writableNeedDrain || this.refusedByNode(exchange, needs)) {
      this.#hooks.askNode(exchange)
      if (!keepAlive) connection.closing = true
      // Node's refusal has no body, and did not come back to us.
      return exchange.response === undefined ? 0 : this.#answers.bodyBytes({ html, head })
    }
    connection.forget(request)
    this.#write(connection, { html, head, keepAlive }, now(), request.complete || needs.bodyBytes === 0)
    return this.#answers.bodyBytes({ html, head })
  }

  #write(connection: Connection, choice: AnswerChoice, nowMs: number, complete: boolean): void {
    this.#time.spent(nowMs, loopTurn())
    if (choice.keepAlive && !this.#atOnce && !this.#time.hasTime(nowMs)) this.#putOff(connection, choice, nowMs)
    else this.#writeNow(connection, choice, nowMs, complete)
  }

  /** A client that closes after its answer is gone however late it gets it; one that stays does not ask again before. */
  #putOff(connection: Connection, choice: AnswerChoice, nowMs: number): void {
    this.answerOwed(connection)
    connection.owed = choice
    this.#lines.connections.add(connection)
    if ((connection.socket.timeout ?? 0) < 2 * MOST_HELD_MS) connection.stopEveryIdleTimeout(this.#server)
    this.#held.hold(connection, nowMs)
  }

  #writeNow(connection: Connection, choice: AnswerChoice, nowMs: number, complete: boolean): void {
    const { socket } = connection
    const message = this.#answers.message(choice, httpDate(nowMs), this.#server.keepAliveTimeout)
    if (choice.keepAlive) connection.startIdleTimeout(this.#server)
    socket.write(message, 'latin1')
    if (!choice.keepAlive) endConnection(socket, complete)
  }
}

/** A client that still has much to send, or waits for leave to send it, can not reuse the connection. */
function keepsConnection(needs: HeadNeeds, request: IncomingMessage): boolean {
  if (needs.expects) return false
  return request.complete || needs.bodyBytes <= DROPPABLE_BODY
}
