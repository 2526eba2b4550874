/** Counts shed requests and answers them: with one raw write when the connection has no other response in progress. */
import type { Server } from 'node:http'
import type { ShedReason } from '../../admission/sheds.ts'
import type { ShedBudgetLike } from '../../admission/shed-budget.ts'
import { sheds } from '../../channels.ts'
import { now } from '../../clock.ts'
import { loopTurn } from '../../signals/loop-figures.ts'
import type { ProcessGate } from '../../process-gate.ts'
import type { AnswerKind } from '../connection/answer-kind.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionQueues } from '../connection/connection-queues.ts'
import type { Exchange } from '../request/exchange.ts'
import type { MemoryPolicy } from '../request/policy.ts'
import { describeHead, type HeadNeeds } from '../request/request-head.ts'
import { keepsConnection, type OwnAnswers } from '../response/own-answers.ts'
import { requestObserver, type ShedRecords, type Source } from '../response/observer.ts'
import { HeldAnswers, MOST_HELD_MS } from './held-answers.ts'

export interface SheddingParts {
  readonly source: Source
  readonly answers: OwnAnswers
  readonly queues: ConnectionQueues<Exchange>
  readonly time: ShedBudgetLike
  readonly gate: ProcessGate<Exchange>
  readonly shedThroughNode: (exchange: Exchange) => void
  readonly memory: MemoryPolicy | undefined
}

export class Shedding {
  left = 0
  /** True during a drain: each answer that begins from then on is the last of its connection. */
  leaving = false
  readonly #parts: SheddingParts
  readonly #server: Server
  readonly held: HeldAnswers
  #atOnce = false
  #records: ShedRecords | undefined

  constructor(parts: SheddingParts) {
    const { gate, source, time } = parts
    this.#parts = parts
    this.#server = source.server
    this.held = new HeldAnswers(time, connection => gate.failOpen.guard(() => this.sendDelayed(connection)))
  }

  /** Undefined until sheds have a subscriber. */
  get records(): ShedRecords | undefined {
    if (this.#records === undefined && sheds.hasSubscribers) {
      this.#records = requestObserver()?.shedRecordsOf(this.#parts.source)
    }
    return this.#records
  }

  answerWithoutDelay(): void {
    this.#atOnce = true
    this.held.end()
  }

  /** Sheds a plain GET, for which no request object exists. */
  shedHead(
    connection: Connection<Exchange>,
    reason: ShedReason,
    page: boolean,
    keepAlive: boolean,
    nowMs: number,
  ): void {
    this.count(reason, nowMs)
    this.records?.add(reason, 'GET', 0)
    const kind = { preflight: false, page, head: false, keepAlive: keepAlive && !this.leaving }
    this.#write(connection, kind, nowMs, true)
  }

  /** Returns false when Node rejects the request itself, which is not a shed. */
  shed(exchange: Exchange, reason: ShedReason): boolean {
    const needs = describeHead(exchange.request.rawHeaders)
    if (this.refusedByNode(exchange, needs)) {
      this.#parts.shedThroughNode(exchange)
      return false
    }
    const nowMs = now()
    this.count(reason, nowMs)
    const bytes = this.#answer(exchange, needs)
    // The end of an upload needs no record when it is shed, because its request has one.
    if (!exchange.resumesUpload) this.#note(reason, exchange, bytes, nowMs)
    return true
  }

  count(reason: ShedReason, nowMs: number): void {
    const { gate, memory } = this.#parts
    gate.countShed(reason, nowMs, reason === 'memory' ? memory?.fullOf(nowMs) : undefined)
  }

  clientLeft(exchange: Exchange): void {
    this.left++
    this.#note(undefined, exchange, 0, now())
  }

  /** True if Node answers the request with 400 itself, because it has no Host field (RFC 9112 section 3.2). */
  refusedByNode({ connection, request }: Exchange, { namesHost }: HeadNeeds): boolean {
    const { requireHostHeader } = this.#server as { requireHostHeader?: boolean }
    return connection !== undefined && !namesHost && request.httpVersion === '1.1' && requireHostHeader !== false
  }

  sendDelayed(connection: Connection<Exchange>): void {
    const { delayedAnswer, socket } = connection
    if (delayedAnswer === undefined) return
    this.forget(connection)
    const last = (this.leaving || socket.readableEnded) && connection.behind.length === 0
    this.#parts.queues.next(connection)
    if (socket.destroyed || !socket.writable) return
    const kind = last ? { ...delayedAnswer, keepAlive: false } : delayedAnswer
    this.#parts.answers.shedAtSocket(connection, kind, this.#server, now(), false)
  }

  forget(connection: Connection<Exchange>): void {
    if (connection.delayedAnswer === undefined) return
    connection.delayedAnswer = undefined
    this.held.delete(connection)
  }

  #note(reason: ShedReason | undefined, { request, arrivedAt }: Exchange, bytes: number, nowMs: number): void {
    this.records?.note(reason, request, nowMs - arrivedAt, bytes, nowMs)
  }

  #answer(exchange: Exchange, needs: HeadNeeds): number {
    const { request, response } = exchange
    if (response !== undefined) return this.#parts.answers.shed(request, response, exchange.resumesUpload)
    const connection = exchange.connection!
    const { socket } = connection
    if (socket.destroyed || !socket.writable) return 0
    const last = (this.leaving || socket.readableEnded) && connection.behind.length === 0
    const keepAlive = exchange.keepAlive && !last && keepsConnection(request, needs)
    const preflight = this.#parts.answers.isPreflight(request.method, needs)
    const kind = { preflight, page: needs.prefersHtml, head: request.method === 'HEAD', keepAlive }
    // Another answer is still being written on this connection, or the client does not read.
    if (socket._httpMessage != null || socket.writableNeedDrain) {
      this.#parts.shedThroughNode(exchange)
      if (!keepAlive) connection.closing = true
    } else {
      connection.forget(request)
      this.#write(connection, kind, now(), request.complete || needs.bodyBytes === 0)
    }
    return this.#parts.answers.bodyBytes(kind)
  }

  #write(connection: Connection<Exchange>, kind: AnswerKind, nowMs: number, complete: boolean): void {
    const { answers, queues, time } = this.#parts
    time.spent(nowMs, loopTurn())
    // A delay helps only if the connection stays open: its client cannot send the next request before the answer.
    if (!kind.keepAlive || this.#atOnce || time.hasTime(nowMs)) {
      answers.shedAtSocket(connection, kind, this.#server, nowMs, complete)
      return
    }
    connection.delayedAnswer = kind
    queues.add(connection)
    if ((connection.socket.timeout ?? 0) < 2 * MOST_HELD_MS) connection.stopTimeouts(this.#server)
    this.held.hold(connection, nowMs)
  }
}
