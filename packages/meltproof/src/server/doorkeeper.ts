/**
 * The door of one server: sees every connection and request below any framework, asks the gate, and carries out what
 * it decides. Knows Node's HTTP server; knows nothing of options, lanes or limits.
 *
 * connection -> request -> gate -> permit | wait | shed -> handler -> response closed -> permit given back
 *
 * Two places of interception:
 * - the parser (connection.ts): nearly all requests, before a ServerResponse exists;
 * - `server.emit('request')`: whatever did not come by a parser we stand at (connections injected by the app, HTTP/2,
 *   an `Upgrade` nobody listens for). Both use the same gate, so no request enters unasked.
 *
 * Nothing here may fail into the app: an exception of ours opens the door for good and is reported once.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Gate, type ShedReason } from '../admission/gate.ts'
import type { LimitLaw } from '../admission/limit.ts'
import { PressureMeter } from '../admission/pressure.ts'
import { httpDate, now } from '../clock.ts'
import { Connection, type HttpSocket } from './connection.ts'
import { Exchange } from './exchange.ts'
import { describeHead, type HeadNeeds } from './request-head.ts'
import type { ShedAnswers } from './shed-answer.ts'

export interface DoorkeeperHooks {
  /** Something inside meltproof failed and the door now stands open. Called once. */
  readonly onFailure: (error: unknown) => void
}

/** What went through the door so far. */
export interface DoorCounts {
  admitted: number
  shed: Record<ShedReason, number>
}

/** A permit is given back early when an answer or an upload merely flows; looked for this often, ms. */
const FLOW_CHECK_MS = 50
/** What a client still uploads after a shed is read and dropped for so long, ms, so that it can see the answer. */
const LINGER_MS = 2000
/** Bodies up to this are read and dropped after a shed and the connection kept; bytes. */
const DROPPABLE_BODY = 65_536

export class Doorkeeper {
  readonly counts: DoorCounts = { admitted: 0, shed: { stale: 0, late: 0, full: 0, closing: 0 } }
  readonly #server: Server
  /** The server's own emit. */
  readonly #emit: (this: Server, event: string, ...args: unknown[]) => boolean
  readonly #answers: ShedAnswers
  readonly #hooks: DoorkeeperHooks
  readonly #gate: Gate<Exchange>
  readonly #pressure = new PressureMeter()
  readonly #inService = new Set<Exchange>()
  readonly #connections = new WeakMap<HttpSocket, Connection>()
  readonly #waitingConnections = new Set<Connection>()
  readonly #undo: (() => void)[] = []
  #open = false
  #failed = false
  /** The exchange that is being handed on to Node right now; its response arrives through `emit`. */
  #handingOn: Exchange | undefined
  #timer: NodeJS.Timeout | undefined
  #flowCheckedAt = 0

  constructor(server: Server, law: LimitLaw, answers: ShedAnswers, hooks: DoorkeeperHooks) {
    this.#server = server
    this.#emit = server.emit as (event: string, ...args: unknown[]) => boolean
    this.#answers = answers
    this.#hooks = hooks
    const turnEnded = (): void => this.#wake('turnEnded')
    const timeCame = (): void => this.#wake('timeCame')
    this.#gate = new Gate<Exchange>(law, {
      now,
      start: exchange => this.#startWaited(exchange),
      shed: (exchange, reason) => this.#shedWaited(exchange, reason),
      wakeAtTurnEnd: () => setImmediate(turnEnded),
      wakeAfter: ms => {
        clearTimeout(this.#timer)
        this.#timer = setTimeout(timeCame, ms)
        this.#timer.unref()
      },
    })
    this.#interceptEmit()
    this.#interceptIdleClosing()
  }

  get inflight(): number {
    return this.#gate.inflight
  }

  get queued(): number {
    return this.#gate.queued
  }

  pressure(): number {
    return this.#pressure.value(now())
  }

  /** Opens the door for good: whoever waits is started, nobody is asked any more, the server is as before. */
  open(): void {
    if (this.#open) return
    this.#open = true
    clearTimeout(this.#timer)
    for (const undo of this.#undo) undo()
    for (const connection of [...this.#waitingConnections]) {
      const exchange = connection.waiting
      if (exchange === undefined) continue
      this.#gate.abandon(exchange, now())
      this.#passOn(exchange)
    }
    for (const exchange of this.#lateWaiters) this.#passOn(exchange)
    this.#lateWaiters.clear()
  }

  // Interception ------------------------------------------------------------------------------------------------

  /**
   * `emit` rather than a listener: frameworks replace and reorder listeners (socket.io takes all of 'request' off and
   * calls them itself), and a listener of ours would be counted, moved or skipped.
   */
  #interceptEmit(): void {
    const server = this.#server
    const emit = this.#emit
    const hadOwn = Object.hasOwn(server, 'emit')
    const intercepting = (event: string, ...args: unknown[]): boolean => {
      switch (event) {
        case 'request':
        case 'checkContinue':
        case 'checkExpectation':
          return this.#onRequestEvent(event, args[0] as IncomingMessage, args[1] as ServerResponse)
        case 'connection':
        case 'secureConnection': {
          const emitted = emit.call(server, event, ...args)
          this.#onConnection(args[0] as HttpSocket)
          return emitted
        }
        default:
          return emit.call(server, event, ...args)
      }
    }
    server.emit = intercepting as Server['emit']
    this.#undo.push(() => {
      // Somebody wrapped it after us: stay in place, our part passes everything on once the door is open.
      if (server.emit !== intercepting) return
      if (hadOwn) server.emit = emit as Server['emit']
      else delete (server as Partial<Server>).emit
    })
  }

  /** close() destroys idle connections; one whose request waits here looks idle to Node and must not be cut. */
  #interceptIdleClosing(): void {
    const server = this.#server
    const closeIdle = server.closeIdleConnections
    const hadOwn = Object.hasOwn(server, 'closeIdleConnections')
    const intercepting = (): void => {
      const marked = [...this.#waitingConnections].filter(({ socket }) => socket._httpMessage == null)
      for (const { socket } of marked) socket._httpMessage = WAITING
      closeIdle.call(server)
      for (const { socket } of marked) if (socket._httpMessage === WAITING) socket._httpMessage = null
    }
    server.closeIdleConnections = intercepting
    this.#undo.push(() => {
      if (server.closeIdleConnections !== intercepting) return
      if (hadOwn) server.closeIdleConnections = closeIdle
      else delete (server as Partial<Server>).closeIdleConnections
    })
  }

  #onConnection(socket: HttpSocket): void {
    if (this.#open || this.#connections.has(socket)) return
    try {
      const connection = Connection.attach(socket, this.#onHead)
      if (connection === undefined) return
      this.#connections.set(socket, connection)
      socket.on('close', () => this.#onDisconnect(connection))
    } catch (error) {
      this.#fail(error)
    }
  }

  #onDisconnect(connection: Connection): void {
    const { waiting } = connection
    connection.waiting = undefined
    connection.behind = []
    this.#waitingConnections.delete(connection)
    if (waiting !== undefined) this.#gate.abandon(waiting, now())
  }

  // A request arrives ---------------------------------------------------------------------------------------------

  /** A head was parsed. Answers what Node's parser expects: 0, or 2 for an upgrade. */
  readonly #onHead = (connection: Connection, request: ParsedRequest, keepAlive: boolean): number => {
    // An upgrade is Node's to decide; one nobody listens for comes back as a plain request through `emit`.
    if (this.#open || request.upgrade) return connection.handOn(request, keepAlive)
    const arrivedAt = now()
    const exchange = new Exchange(request, connection, keepAlive, arrivedAt)
    if (connection.waiting !== undefined) {
      // Pipelined behind one that waits: HTTP/1.1 answers in order, so it can not go first.
      connection.behind.push(exchange)
      connection.pauseReading()
      return 0
    }
    let decision: ReturnType<Gate<Exchange>['offer']>
    try {
      decision = this.#offer(exchange, arrivedAt)
      if (decision !== 'start') {
        if (decision === 'wait') this.#wait(connection, exchange)
        else this.#shed(exchange, 'full')
        return 0
      }
      connection.stopIdleTimeout(this.#server)
    } catch (error) {
      this.#fail(error)
      return connection.handOn(request, keepAlive)
    }
    // Exceptions of the app's own handler pass through here exactly as they do without us.
    this.#handingOn = exchange
    const result = connection.handOn(request, keepAlive)
    this.#handedOn(exchange)
    return result
  }

  #offer(exchange: Exchange, nowMs: number): ReturnType<Gate<Exchange>['offer']> {
    this.#pressure.offered(nowMs)
    const decision = this.#gate.offer(exchange, nowMs)
    if (decision === 'start') this.#permit(exchange, nowMs)
    else if (decision === 'wait') this.#pressure.waited()
    return decision
  }

  #permit(exchange: Exchange, nowMs: number): void {
    exchange.startedAt = nowMs
    exchange.holdsPermit = true
    this.#inService.add(exchange)
    this.counts.admitted++
  }

  #wait(connection: Connection, exchange: Exchange): void {
    connection.waiting = exchange
    this.#waitingConnections.add(connection)
    connection.keepContext()
    connection.stopIdleTimeout(this.#server)
  }

  /** Node has been given a request; if it answered by itself (no Host header, a 417), no response came by. */
  #handedOn(exchange: Exchange): void {
    this.#handingOn = undefined
    if (exchange.response === undefined) this.#release(exchange)
    this.#gate.handlerReturned(exchange.startedAt, now())
  }

  /** Node hands a request to the app. */
  #onRequestEvent(event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const exchange = this.#handingOn
    if (exchange !== undefined && exchange.request === request) {
      this.#handingOn = undefined
      exchange.response = response
      if (exchange.holdsPermit) {
        response.on('close', () => this.#release(exchange))
        return this.#emit.call(this.#server, event, request, response)
      }
      this.#answerThroughNode(exchange, response)
      return true
    }
    if (this.#open) return this.#emit.call(this.#server, event, request, response)
    return this.#onLateRequest(event, request, response)
  }

  // Requests that did not come by a parser of ours --------------------------------------------------------------

  readonly #lateWaiters = new Set<Exchange>()

  #onLateRequest(event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const arrivedAt = now()
    const exchange = new Exchange(request, undefined, true, arrivedAt)
    exchange.response = response
    exchange.event = event
    try {
      response.on('close', () => this.#onLateClose(exchange))
      const decision = this.#offer(exchange, arrivedAt)
      if (decision === 'wait') this.#lateWaiters.add(exchange)
      if (decision === 'shed') this.#shed(exchange, 'full')
      if (decision !== 'start') return true
    } catch (error) {
      this.#fail(error)
    }
    const emitted = this.#emit.call(this.#server, event, request, response)
    this.#gate.handlerReturned(arrivedAt, now())
    return emitted
  }

  #onLateClose(exchange: Exchange): void {
    if (exchange.holdsPermit) this.#release(exchange)
    else if (this.#lateWaiters.delete(exchange)) this.#gate.abandon(exchange, now())
  }

  // What the gate decides later -----------------------------------------------------------------------------------

  #wake(occasion: 'turnEnded' | 'timeCame'): void {
    try {
      const nowMs = now()
      if (this.#gate.queued > 0 && nowMs - this.#flowCheckedAt >= FLOW_CHECK_MS) this.#releaseFlowing(nowMs)
      this.#gate[occasion](now())
    } catch (error) {
      this.#fail(error)
    }
  }

  #startWaited(exchange: Exchange): void {
    this.#permit(exchange, now())
    this.#leaveWaiting(exchange)
    this.#passOn(exchange)
  }

  /** Runs the handler of a request that waited. What the app throws surfaces as uncaught, as it does without us. */
  #passOn(exchange: Exchange): void {
    const { connection } = exchange
    try {
      if (connection === undefined) {
        this.#emit.call(this.#server, exchange.event, exchange.request, exchange.response)
      } else {
        connection.waiting = undefined
        this.#handingOn = exchange.holdsPermit ? exchange : undefined
        connection.handOnLater(exchange)
      }
    } catch (error) {
      process.nextTick(() => {
        throw error
      })
    }
    if (exchange.holdsPermit && connection !== undefined) this.#handedOn(exchange)
    if (connection !== undefined) this.#nextInLine(connection)
  }

  #shedWaited(exchange: Exchange, reason: ShedReason): void {
    this.#leaveWaiting(exchange)
    this.#shed(exchange, reason)
    if (exchange.connection !== undefined) this.#nextInLine(exchange.connection)
  }

  #leaveWaiting(exchange: Exchange): void {
    const { connection } = exchange
    if (connection === undefined) {
      this.#lateWaiters.delete(exchange)
      return
    }
    connection.waiting = undefined
    this.#waitingConnections.delete(connection)
  }

  /** The next pipelined request of a connection whose turn has come. */
  #nextInLine(connection: Connection): void {
    while (connection.waiting === undefined && connection.behind.length > 0) {
      const { request, keepAlive } = connection.behind.shift()!
      this.#onHead(connection, request, keepAlive)
    }
    if (connection.behind.length === 0) connection.resumeReading()
  }

  // Leaving -------------------------------------------------------------------------------------------------------

  #release(exchange: Exchange): void {
    if (!exchange.holdsPermit) return
    exchange.holdsPermit = false
    this.#inService.delete(exchange)
    const nowMs = now()
    this.#gate.release(nowMs, nowMs - exchange.startedAt)
  }

  /**
   * A response that has begun, or a request still uploading, is a flow at the client's pace (a stream, a download, an
   * event source): it no longer says anything about our capacity. Looked for only while somebody waits.
   */
  #releaseFlowing(nowMs: number): void {
    this.#flowCheckedAt = nowMs
    for (const exchange of this.#inService) {
      if (nowMs - exchange.startedAt < FLOW_CHECK_MS) break // in order of their start
      if (exchange.response?.headersSent === true || !exchange.request.complete) this.#release(exchange)
    }
  }

  // Shedding ------------------------------------------------------------------------------------------------------

  #shed(exchange: Exchange, reason: ShedReason): void {
    this.counts.shed[reason]++
    this.#pressure.shed()
    const { connection, response } = exchange
    if (connection === undefined) {
      if (response !== undefined) this.#answerThroughNode(exchange, response)
      return
    }
    const { socket } = connection
    if (socket.destroyed || !socket.writable) return
    const { request } = exchange
    const needs = describeHead(request)
    // Another answer is still being written on this connection, or the client does not read: Node keeps the order.
    if (socket._httpMessage != null || socket.writableNeedDrain || request.httpVersion !== '1.1') {
      this.#handingOn = exchange
      connection.handOnLater(exchange)
      this.#handingOn = undefined
      return
    }
    const keepAlive = exchange.keepAlive && keepsConnection(needs, request)
    const choice = { html: needs.prefersHtml, head: request.method === 'HEAD', keepAlive }
    connection.forget(request)
    socket.write(this.#answers.message(choice, httpDate(now())), 'latin1')
    if (keepAlive) connection.startIdleTimeout(this.#server)
    else closeSoon(socket)
  }

  /** The slower way, through Node's own response. */
  #answerThroughNode(exchange: Exchange, response: ServerResponse): void {
    const needs = describeHead(exchange.request)
    const { headers, body } = this.#answers.parts(needs.prefersHtml)
    if (!keepsConnection(needs, exchange.request) && exchange.request.httpVersionMajor < 2) {
      headers.connection = 'close'
    }
    response.writeHead(503, headers)
    response.end(body)
  }

  // Failure -------------------------------------------------------------------------------------------------------

  #fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    try {
      this.open()
    } catch {
      // The door is open either way; the first failure is the one to report.
    }
    this.#hooks.onFailure(error)
  }
}

/** Node marks a request that asks to change the protocol. */
type ParsedRequest = IncomingMessage & { upgrade?: boolean }

/** Stands in `socket._httpMessage` for a moment; see interceptIdleClosing. */
const WAITING = { finished: false }

/** A client that still has much to send, or waits for leave to send it, can not reuse the connection. */
function keepsConnection(needs: HeadNeeds, request: IncomingMessage): boolean {
  if (needs.expects) return false
  return request.complete || needs.bodyBytes <= DROPPABLE_BODY
}

/** Says goodbye, then drops what still comes for a moment, so that the answer is not lost to a reset. */
function closeSoon(socket: HttpSocket): void {
  socket.end()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
