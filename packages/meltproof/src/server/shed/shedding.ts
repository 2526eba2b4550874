/**
 * Turns requests away: counts them, and sees to it that each gets its answer. Where nothing else is under way on its
 * connection the answer is one write of ready bytes; otherwise Node's own response keeps the order. While turning away
 * takes more than its share of the loop's time, answers are put off (held-answers.ts).
 */
import type { Server, ServerResponse } from 'node:http'
import type { ShedReason } from '../../admission/shed-reason.ts'
import type { TurningAwayTime } from '../../admission/turning-away.ts'
import { sheds } from '../../channels.ts'
import { now } from '../../clock.ts'
import { loopTurn } from '../../signals/loop-turn.ts'
import type { AnswerKind, Connection } from '../connection/connection.ts'
import type { Lines } from '../connection/lines.ts'
import type { Exchange } from '../request/exchange.ts'
import { describeHead, type HeadNeeds } from '../request/request-head.ts'
import { keepsConnection, type OwnAnswers } from '../response/own-answers.ts'
import { HeldAnswers, MOST_HELD_MS } from './held-answers.ts'

/** What was known when the last request was shed. */
export interface LastShed {
  readonly reason: ShedReason
  readonly atMs: number
  readonly inflight: number
  /** In service without a permit: they take far longer than others of their kind. */
  readonly stragglers: number
  /** Of those in service: nobody waits for their answers any more, and the handlers work on. */
  readonly abandoned: number
  readonly limit: number
  readonly queued: number
}

export interface SheddingHooks {
  /** Has Node make a response for the request and come back with it (to {@link Shedding.throughNode}), or refuse it itself. */
  readonly askNode: (exchange: Exchange) => void
  /** A request was turned away. */
  readonly onShed: () => void
  /** What is known at this moment. */
  readonly facts: () => Omit<LastShed, 'reason' | 'atMs'>
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
  last: LastShed | undefined
  readonly #server: Server
  readonly #answers: OwnAnswers
  readonly #lines: Lines<Exchange>
  readonly #time: TurningAwayTime
  readonly #held: HeldAnswers
  readonly #hooks: SheddingHooks
  /** No answer is put off: something comes behind it that can not wait, or the server goes away. */
  #atOnce = false

  constructor(
    server: Server,
    answers: OwnAnswers,
    lines: Lines<Exchange>,
    time: TurningAwayTime,
    hooks: SheddingHooks,
  ) {
    this.#server = server
    this.#answers = answers
    this.#lines = lines
    this.#time = time
    this.#hooks = hooks
    this.#held = new HeldAnswers(time, connection => hooks.guarded(() => this.answerOwed(connection)))
  }

  /** From now on every answer is given at once, and those that were put off as well. */
  putOffNothing(): void {
    this.#atOnce = true
    this.#held.end()
  }

  /** A request of which nothing was made yet: one write, and nothing else is made of it. */
  shedHead(
    connection: Connection<Exchange>,
    reason: ShedReason,
    page: boolean,
    keepAlive: boolean,
    nowMs: number,
  ): void {
    this.count(reason, nowMs)
    this.#write(connection, { page, head: false, keepAlive: keepAlive && !this.leaving }, nowMs, true)
  }

  /** Answers false when Node refuses the request itself, which is no shed. */
  shed(exchange: Exchange, reason: ShedReason): boolean {
    const needs = describeHead(exchange.request.rawHeaders)
    if (this.refusedByNode(exchange, needs)) {
      this.#hooks.askNode(exchange)
      return false
    }
    this.count(reason, now())
    this.publish(exchange, reason, this.#answer(exchange, needs))
    return true
  }

  count(reason: ShedReason, atMs: number): void {
    this.counts[reason]++
    this.#hooks.onShed()
    this.last = { reason, atMs, ...this.#hooks.facts() }
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

  /** Answers through Node's response. Returns the bytes of the body. */
  throughNode({ request }: Exchange, response: ServerResponse): number {
    return this.#answers.shed(request, response)
  }

  /** Gives a connection the answer that was put off. */
  answerOwed(connection: Connection<Exchange>): void {
    const { owed, socket } = connection
    if (owed === undefined) return
    connection.owed = undefined
    const last = this.leaving && connection.behind.length === 0
    this.#lines.move(connection)
    if (socket.destroyed || !socket.writable) return
    this.#answers.shedAtSocket(connection, last ? { ...owed, keepAlive: false } : owed, this.#server, now(), false)
  }

  /** Returns the bytes of the body. */
  #answer(exchange: Exchange, needs: HeadNeeds): number {
    const { connection, request, response } = exchange
    if (connection === undefined) return response === undefined ? 0 : this.throughNode(exchange, response)
    const { socket } = connection
    if (socket.destroyed || !socket.writable) return 0
    const last = this.leaving && connection.behind.length === 0
    const keepAlive = exchange.keepAlive && !last && keepsConnection(request, needs)
    const kind = { page: needs.prefersHtml, head: request.method === 'HEAD', keepAlive }
    // Another answer is still being written on this connection, or the client does not read.
    if (socket._httpMessage != null || socket.writableNeedDrain) {
      this.#hooks.askNode(exchange)
      if (!keepAlive) connection.closing = true
    } else {
      connection.forget(request)
      this.#write(connection, kind, now(), request.complete || needs.bodyBytes === 0)
    }
    return this.#answers.bodyBytes(kind)
  }

  #write(connection: Connection<Exchange>, kind: AnswerKind, nowMs: number, complete: boolean): void {
    this.#time.spent(nowMs, loopTurn())
    // A client that closes after its answer is gone however late it gets it; one that stays does not ask again before.
    if (kind.keepAlive && !this.#atOnce && !this.#time.hasTime(nowMs)) this.#putOff(connection, kind, nowMs)
    else this.#answers.shedAtSocket(connection, kind, this.#server, nowMs, complete)
  }

  #putOff(connection: Connection<Exchange>, kind: AnswerKind, nowMs: number): void {
    connection.owed = kind
    this.#lines.connections.add(connection)
    if ((connection.socket.timeout ?? 0) < 2 * MOST_HELD_MS) connection.stopEveryIdleTimeout(this.#server)
    this.#held.hold(connection, nowMs)
  }
}
