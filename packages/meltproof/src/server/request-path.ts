/**
 * The path of a request through a protected server, below any framework (ARCHITECTURE.md has the files of each step):
 *
 *     arrive -> admit -> start | wait | shed -> run -> end
 *
 * #decide() asks ServerGate.decide(), ProcessGate.ask(), Gate.offer() and StandingQueue.push(): each calls the next.
 *
 * Most requests arrive at the parser, before a ServerResponse exists. The others arrive by an event of the server:
 * HTTP/2, requests injected by the app, upgrades without a listener, raw streams of HTTP/2 (gRPC).
 */
import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type Decision, GATE_TUNING, type GateTuning } from '../admission/gate.ts'
import type { Limiter } from '../admission/limiter/limiter.ts'
import type { ShedReason } from '../admission/sheds.ts'
import { ShedBudget, type ShedBudgetLike } from '../admission/shed-budget.ts'
import { now } from '../clock.ts'
import { FailOpen } from '../fail-open.ts'
import type { ProcessGate } from '../process-gate.ts'
import { cpuMs, loopTurn, loopWorkedMs } from '../signals/loop-figures.ts'
import type { Connection, HeadHandler } from './connection/connection.ts'
import { Connections } from './connection/connections.ts'
import type { HttpSocket } from './connection/http-socket.ts'
import { cameOverConnection, intercept, type Intercepted, type Interception } from './connection/interception.ts'
import { ConnectionQueues } from './connection/connection-queues.ts'
import { PacedBodies } from './connection/paced-bodies.ts'
import { decideDry, shadowHandlerEnded, startShadow } from './gate/dry-run.ts'
import { ServerGate } from './gate/server-gate.ts'
import { keepUploadEnd, shedUploadEnd } from './gate/upload-ends.ts'
import type { GuardStats } from './guard.ts'
import { handlerOf } from './handler/handler.ts'
import { handlerHasEnded } from './handler/outcome.ts'
import { answerMs, type RequestDeadline } from './handler/request-deadline.ts'
import { Exchange } from './request/exchange.ts'
import { isHttp2, streamOf } from './request/is-http2.ts'
import type { RequestPolicy } from './request/policy.ts'
import { describeHead } from './request/request-head.ts'
import { isRawStream, StreamRequest, watchCut } from './request/stream-request.ts'
import { makeLast } from './response/last-answer.ts'
import { mute } from './response/muted-response.ts'
import { requestObserver, type Source } from './response/observer.ts'
import type { OwnAnswers } from './response/own-answers.ts'
import { StreamResponse } from './response/stream-response.ts'
import { Shedding } from './shed/shedding.ts'

export interface PathOptions {
  /** The guard that is published with the records of requests. */
  readonly guard: object
  readonly limiter: Limiter
  readonly answers: OwnAnswers
  readonly onFailure: (error: unknown) => void
  readonly policy?: RequestPolicy
  readonly tuning?: GateTuning
  readonly deadline?: RequestDeadline | undefined
}

export class RequestPath implements HeadHandler<Exchange>, Intercepted {
  readonly connections: Connections<Exchange> = new Connections(this)
  readonly serverGate: ServerGate
  readonly processGate: ProcessGate<Exchange>
  readonly shedding: Shedding
  readonly #server: Server
  readonly #source: Source
  readonly #answers: OwnAnswers
  readonly #policy: RequestPolicy
  readonly #bodies: PacedBodies | undefined
  readonly #failOpen: FailOpen
  readonly #shedBudget: ShedBudgetLike
  readonly #queues: ConnectionQueues<Exchange>
  /** Waiting requests that are not queued on a connection. */
  readonly #apart = new Set<Exchange>()
  readonly #runHandler: (exchange: Exchange, event: string) => boolean
  readonly #interception: Interception
  readonly #onClose: (this: AskedResponse | undefined) => void

  constructor(server: Server, options: PathOptions) {
    const { guard, limiter, answers, onFailure, policy = {}, tuning = GATE_TUNING, deadline } = options
    this.#server = server
    this.#source = { guard, server }
    this.#answers = answers
    this.#policy = policy
    if (policy.memory !== undefined && !policy.dryRun) {
      this.#bodies = new PacedBodies(this.connections.open, policy.memory.sources)
    }
    this.#shedBudget = policy.shedBudget ?? new ShedBudget(loopWorkedMs, cpuMs)
    this.#failOpen = new FailOpen({
      stepAside: () => {
        this.processGate.stop()
        this.#bodies?.stop()
        this.#interception.undo()
      },
      startWaiting: () => {
        this.shedding.answerWithoutDelay()
        this.#startAll()
      },
      onFailure,
    })
    this.serverGate = new ServerGate({
      limiter,
      tuning,
      policy,
      failOpen: this.#failOpen,
      start: exchange => this.#start(exchange),
      shed: (exchange, reason) => this.#shed(exchange, reason),
      // A paused upload returns its permit, because it waits for its client. Processing the body needs a permit again.
      onUploadPaused: upload => {
        if (!policy.dryRun) keepUploadEnd(upload, exchange => this.#onUploadEnd(exchange))
      },
      onGone: exchange => this.#end(exchange),
      answerMs: deadline && (request => answerMs(deadline, request)),
    })
    this.processGate = this.serverGate.processGate
    this.#queues = new ConnectionQueues(server, (connection, exchange) => {
      if (this.#failOpen.isOpen || this.#admit(connection, exchange)) this.#passToNode(exchange)
    })
    this.shedding = new Shedding({
      source: this.#source,
      answers,
      queues: this.#queues,
      time: this.#shedBudget,
      gate: this.processGate,
      shedThroughNode: exchange => this.#shedThroughNode(exchange),
      memory: policy.memory,
    })
    this.#runHandler = handlerOf({
      policy,
      deadline: policy.dryRun ? undefined : deadline,
      failOpen: this.#failOpen,
      onLate: exchange => this.#answerLate(exchange),
      emit: ({ request, response }, event) =>
        event === 'stream'
          ? this.#interception.emit(event, ...(request as unknown as StreamRequest).event)
          : this.#interception.emit(event, request, response),
    })
    const path = this
    // One listener for all requests saves a closure for each. An app may call the listener on another object.
    this.#onClose = function () {
      const exchange = this?.[ASKED]
      if (exchange !== undefined) path.#end(exchange)
    }
    this.#interception = intercept(server, this, this.#queues.connections)
  }

  stats(): Omit<GuardStats, 'open' | 'lanes' | 'draining' | 'dryRun'> {
    return { ...this.processGate.stats(), exempt: this.serverGate.exempt, left: this.shedding.left }
  }

  lastAnswers(): void {
    this.shedding.leaving = true
    for (const connection of this.connections.open) {
      for (const response of connection.unanswered()) this.#makeLast(response.req, response)
    }
  }

  shedAll(): void {
    if (this.#failOpen.isOpen) return
    this.shedding.answerWithoutDelay()
    this.#failOpen.guard(() => this.processGate.admission.close())
  }

  // Arrive: from the parser, or by an event of the server.

  onConnection(socket: HttpSocket | undefined): void {
    if (this.#failOpen.isOpen) return
    try {
      if (this.connections.add(socket, connection => this.#onDisconnect(connection)) === undefined) return
      this.#bodies?.began()
      const nowMs = now()
      this.serverGate.activeAt = nowMs
      // The budget matters only while requests wait, and reading the turn number is a noticeable part of the cost of a
      // connection.
      if (this.processGate.admission.queued > 0) this.#shedBudget.spent(nowMs, loopTurn())
    } catch (error) {
      this.#failOpen.fail(error)
    }
  }

  /** Sheds a plain GET with one write, as most are shed under overload. Returns false if Node must create a request. */
  refuse(connection: Connection<Exchange>, rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean {
    const { serverGate, shedding } = this
    if (serverGate.admitsAll || this.#failOpen.isOpen || !connection.quiet) return false
    try {
      const nowMs = now()
      if (shedding.records?.wantsRequest(nowMs)) return false
      const reason = serverGate.refuses(connection.socket, rawHeaders, url, nowMs)
      if (reason === undefined) return false
      const needs = describeHead(rawHeaders)
      if (needs.bodyBytes > 0 || needs.expects || !needs.namesHost) return false
      serverGate.countRefused(nowMs)
      shedding.shedHead(connection, reason, needs.prefersHtml, keepAlive, nowMs)
      return true
    } catch (error) {
      this.#failOpen.fail(error)
      return false
    }
  }

  onHead(connection: Connection<Exchange>, request: ParsedRequest, keepAlive: boolean): number {
    if (connection.closing) {
      connection.forget(request)
      return 0
    }
    if (request.upgrade) return this.#onUpgradeHead(connection, request, keepAlive)
    // Node closes the connection of a client that speaks HTTP/2 to an HTTP/1 server.
    if (request.method === 'PRI') connection.cut = true
    const exchange = new Exchange(request, connection, keepAlive, now())
    if (connection.hasQueue) {
      // The request was pipelined behind a waiting one, and HTTP/1.1 answers in order.
      this.#queues.waitBehind(connection, exchange)
      return 0
    }
    if (this.#failOpen.isOpen) {
      connection.stopIdleTimeout(this.#server)
      return connection.handOn(request, keepAlive)
    }
    return this.#admit(connection, exchange) ? this.#handOn(connection, exchange, false) : 0
  }

  /** Node handles an upgrade at once. Without a listener in the app, it arrives at onRequest as a plain request. */
  #onUpgradeHead(connection: Connection<Exchange>, request: ParsedRequest, keepAlive: boolean): number {
    // The upgrade would overtake waiting requests, and their answers would be out of order.
    if (connection.hasQueue) this.#shedQueue(connection)
    if (connection.closing) {
      connection.forget(request)
      return 0
    }
    connection.stopIdleTimeout(this.#server)
    const answer = connection.handOn(request, keepAlive)
    // `upgrade` is still true if Node has detached the connection from its parser, for a listener or to close it.
    if (request.upgrade) {
      connection.cut = true
      this.#failOpen.guard(() => this.#onProtocolChange(connection))
    }
    return answer
  }

  onRequest(event: string, args: unknown[]): boolean {
    const request = args[0] as IncomingMessage
    const response = args[1] as AskedResponse
    const exchange = this.#exchangeFor(request)
    if (exchange === undefined && !cameOverConnection(request, response)) return this.#interception.emit(event, ...args)
    if (this.shedding.leaving) this.#makeLast(request, response)
    if (exchange === undefined) {
      // Apps emit some requests a second time: a 'checkContinue' listener that accepts the request emits 'request'.
      if (this.#failOpen.isOpen || markOf(response)[ASKED]) return this.#interception.emit(event, ...args)
      return this.#arriveByEvent(event, request, response)
    }
    exchange.response = response
    response[ASKED] = exchange
    if (exchange.mayRun) {
      response.on('close', this.#onClose)
      return this.#runHandler(exchange, event)
    }
    this.#answers.shed(request, response)
    return true
  }

  onStream(args: unknown[]): boolean {
    let asks: readonly [StreamRequest, StreamResponse] | undefined
    try {
      const isNew = !this.#failOpen.isOpen && isRawStream(this.#server, args) && (args[0] as Asked)[ASKED] === undefined
      if (isNew) asks = [new StreamRequest(args), new StreamResponse(args[0], args[1])]
    } catch (error) {
      this.#failOpen.fail(error)
    }
    if (asks === undefined) return this.#interception.emit('stream', ...args)
    // The two objects have the members of node:http's classes that the rest of the server uses.
    return this.#arriveByEvent('stream', ...(asks as unknown as [IncomingMessage, ServerResponse]))
  }

  /** Handles a request that did not arrive through a parser that meltproof wraps. */
  #arriveByEvent(event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const exchange = new Exchange(request, undefined, true, now())
    exchange.response = response
    markOf(response)[ASKED] = exchange
    if (isHttp2(request) && !(request instanceof StreamRequest)) watchCut(request.stream)
    let letGo: (() => void) | undefined
    const run = (): boolean => {
      letGo?.()
      return this.#runHandler(exchange, event)
    }
    try {
      const connection = this.#connectionOf(exchange)
      noteOverlap(connection, exchange)
      const decision = this.#decide(exchange)
      // Nothing depends on when the stream of a shed request closes.
      if (decision === 'start' || decision === 'wait' || connection !== undefined) this.#tellClosed(exchange, response)
      if (decision !== 'start' && request instanceof StreamRequest) letGo = request.hold()
      if (decision === 'wait') exchange.resume = AsyncResource.bind(() => void run())
      if (!this.#settle(exchange, decision)) return true
    } catch (error) {
      this.#failOpen.fail(error)
    }
    return run()
  }

  #tellClosed(exchange: Exchange, response: ServerResponse): void {
    const closed = (): void => this.#end(exchange)
    response.on('close', closed)
    // Node emits 'close' only for responses that it created itself.
    response.on('finish', () => process.nextTick(closed))
  }

  #onUploadEnd(exchange: Exchange): void {
    const response = exchange.response!
    let starts = this.#failOpen.isOpen || response.destroyed || isOver(response)
    if (!starts) {
      try {
        response.on('close', () => this.#end(exchange))
        noteOverlap(this.#connectionOf(exchange), exchange)
        starts = this.#settle(exchange, this.processGate.ask(exchange, exchange.arrivedAt))
      } catch (error) {
        this.#failOpen.fail(error)
        starts = true
      }
    }
    if (starts) this.#passToNode(exchange)
  }

  // Admit: start, wait or shed.

  #decide(exchange: Exchange): Decision {
    const { arrivedAt } = exchange
    if (this.#policy.dryRun) return decideDry(exchange, arrivedAt, this.serverGate, this.shedding)
    return this.serverGate.decide(exchange, arrivedAt)
  }

  /** Asks the gate about the next request of a connection. Returns true when it starts now. */
  #admit(connection: Connection<Exchange>, exchange: Exchange): boolean {
    try {
      const starts = this.#settle(exchange, this.#decide(exchange))
      if (starts) connection.stopIdleTimeout(this.#server)
      return starts
    } catch (error) {
      this.#failOpen.fail(error)
      return true
    }
  }

  /** Queues or sheds a request that cannot start now. Returns true when it starts. */
  #settle(exchange: Exchange, decision: Decision): boolean {
    if (decision === 'start') return true
    if (decision !== 'wait') this.#shedNow(exchange, decision)
    else if (exchange.resume !== undefined) this.#apart.add(exchange)
    else this.#queues.wait(exchange.connection!, exchange)
    return false
  }

  /** Called when the gate has put a request that waited into service. The request must get its permit or be dropped. */
  #start(exchange: Exchange): void {
    if (exchange.shadowMs !== undefined) startShadow(exchange, this.processGate)
    else if (this.#connectionOf(exchange)?.socket.destroyed) {
      if (!exchange.resumesUpload) {
        this.#leave(exchange)
        this.shedding.clientLeft(exchange)
      }
      this.processGate.admission.drop(now(), 0, exchange)
    } else if (!exchange.resumesUpload && this.serverGate.memoryRefuses(exchange)) {
      this.processGate.admission.drop(now(), 0, exchange)
      this.#shed(exchange, 'memory')
    } else {
      this.processGate.permit(exchange, now())
      this.#leave(exchange)
      this.#passToNode(exchange)
    }
  }

  /** Sheds a request that has waited. */
  #shed(exchange: Exchange, reason: ShedReason): void {
    if (exchange.shadowMs !== undefined) {
      this.processGate.countShed(reason, now())
      return
    }
    this.#leave(exchange)
    try {
      this.#shedNow(exchange, reason)
    } catch (error) {
      this.#failOpen.fail(error)
      this.#passToNode(exchange)
    }
  }

  #shedNow(exchange: Exchange, reason: ShedReason): void {
    if (exchange.resumesUpload && isOver(exchange.response!)) this.#passToNode(exchange)
    else if (exchange.resumesUpload) shedUploadEnd(exchange, reason, this.shedding)
    // Requests that Node itself rejects count as admitted, as they do without overload.
    else if (!this.shedding.shed(exchange, reason)) this.processGate.admitted++
  }

  /** Sheds every waiting request of the connection, in order, because an upgrade behind them cannot wait. */
  #shedQueue(connection: Connection<Exchange>): void {
    this.shedding.sendDelayed(connection)
    const waiting = this.#takeWaiting(connection)
    this.#failOpen.guard(() => {
      for (const exchange of waiting) {
        if (connection.closing) break
        this.#shedNow(exchange, 'upgrade')
        this.shedding.sendDelayed(connection)
      }
      connection.resumeReading('pipeline')
    })
  }

  #leave(exchange: Exchange): void {
    if (exchange.resume === undefined) this.#queues.next(exchange.connection!)
    else this.#apart.delete(exchange)
  }

  #takeWaiting(connection: Connection<Exchange>): Exchange[] {
    const { waiting } = connection
    const all = this.#queues.takeAll(connection)
    if (waiting !== undefined) this.processGate.withdraw(waiting)
    return all
  }

  /** meltproof steps aside: all waiting requests start, without permits. */
  #startAll(): void {
    for (const connection of [...this.#queues.connections]) {
      for (const exchange of this.#takeWaiting(connection)) this.#startWithoutPermit(exchange)
      connection.resumeReading('pipeline')
    }
    for (const exchange of this.#apart) {
      this.processGate.withdraw(exchange)
      this.#startWithoutPermit(exchange)
    }
    this.#apart.clear()
  }

  #startWithoutPermit(exchange: Exchange): void {
    exchange.ungated = !this.#failOpen.failed
    if (!exchange.resumesUpload) this.processGate.admitted++
    this.#passToNode(exchange)
  }

  // Run: Node creates a response, and the handler gets it.

  /** Runs the handler, or sheds if it may not run. The app's exceptions become uncaught, as without meltproof. */
  #passToNode(exchange: Exchange): void {
    try {
      if (exchange.resume !== undefined) exchange.resume()
      else this.#handOn(exchange.connection!, exchange, true)
    } catch (error) {
      process.nextTick(() => {
        throw error
      })
    }
  }

  /** Makes Node emit 'request' with a response: {@link onRequest} finds the exchange in `connection.current`. */
  #handOn(connection: Connection<Exchange>, exchange: Exchange, later: boolean): number {
    const { request, keepAlive } = exchange
    if (!exchange.mayRun) return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    noteOverlap(connection, exchange)
    this.#shedBudget.interrupted()
    const last = connection.current
    // The app may have removed the listener that ends a request.
    if (last?.response?.writableFinished && !last.response.listeners('close').includes(this.#onClose)) this.#end(last)
    connection.current = exchange
    try {
      return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    } finally {
      this.#afterHandOn(connection, exchange)
    }
  }

  #afterHandOn(connection: Connection<Exchange>, exchange: Exchange): void {
    const { response } = exchange
    if (response === undefined) {
      // Node has answered the request itself, or the app delays its event. A delayed request passes the gate again.
      if (connection.current === exchange) connection.current = undefined
      connection.overlapping?.delete(exchange)
      this.#handlerEnded(exchange, false, now())
    } else if (response.headersSent && this.processGate.admission.queued > 0 && exchange.inService) {
      this.#failOpen.guard(() => this.serverGate.checks.begun(exchange, now()))
    }
  }

  /** Makes Node create a response for a request that is shed. Node may also reject the request itself. */
  #shedThroughNode(exchange: Exchange): void {
    const connection = exchange.connection!
    const { current } = connection
    connection.current = exchange
    this.#passToNode(exchange)
    connection.current = current
  }

  /** The exchange that this request's connection gave to Node last, if Node is creating its response now. */
  #exchangeFor(request: IncomingMessage): Exchange | undefined {
    try {
      // The socket of HTTP/2 is shared by many requests, and may throw.
      if (isHttp2(request) || request.socket == null) return undefined
      const exchange = this.connections.at(request.socket)?.current
      return exchange?.request === request && exchange.response === undefined ? exchange : undefined
    } catch {
      return undefined // Apps emit requests themselves, with any arguments.
    }
  }

  #makeLast(request: IncomingMessage, response: ServerResponse): void {
    if (isHttp2(request)) return
    const connection = this.connections.at(request.socket)
    makeLast(request, response, () => connection?.hasLater(response) !== true)
  }

  #answerLate(exchange: Exchange): void {
    const response = exchange.response!
    this.#answers.late(exchange.request, response)
    mute(exchange.request, response)
    exchange.answeredLate = true
    if (exchange.uploadEnd !== undefined) exchange.uploadEnd.answeredLate = true
    this.#orphan(exchange)
  }

  // End: the response has closed.

  #end(exchange: Exchange): void {
    try {
      const nowMs = now()
      this.serverGate.activeAt = nowMs
      if (exchange.heldBody !== undefined) {
        this.#policy.memory!.left(exchange.heldBody)
        exchange.heldBody = undefined
      }
      const { times } = exchange
      const connection = this.#connectionOf(exchange)
      if (connection?.current === exchange) connection.current = undefined
      const waiting = connection?.waiting
      // Without another response Node now starts the idle timeout, and wait() stops it, because a request still waits.
      if (waiting !== undefined && connection!.socket._httpMessage == null) this.#queues.wait(connection!, waiting)
      const pipelined = connection?.overlapping?.delete(exchange) === true
      if (times !== undefined) requestObserver()?.publish(this.#source, exchange, nowMs)
      if ((exchange.resume !== undefined && this.#leftWaiting(exchange)) || exchange.abandoned) return
      if (handlerHasEnded(exchange, connection, pipelined)) {
        this.#handlerEnded(exchange, exchange.response?.headersSent === true, nowMs)
      } else this.#orphan(exchange, times)
    } catch (error) {
      this.#failOpen.fail(error)
    }
  }

  /** Returns true when the response closed while the request waited without a connection queue. */
  #leftWaiting(exchange: Exchange): boolean {
    if (!this.#apart.delete(exchange)) return false
    this.processGate.withdraw(exchange)
    if (!exchange.resumesUpload) this.shedding.clientLeft(exchange)
    // The handler has answered, and may still wait for the end of the body, which is delivered now.
    else if (exchange.response!.writableEnded && !exchange.answeredLate) this.#passToNode(exchange)
    else exchange.request.destroy()
    return true
  }

  #onDisconnect(connection: Connection<Exchange>): void {
    const { overlapping } = connection
    this.#bodies?.ended(connection)
    this.shedding.forget(connection)
    for (const exchange of this.#takeWaiting(connection)) this.shedding.clientLeft(exchange)
    if (overlapping !== undefined) for (const exchange of [...overlapping]) this.#end(exchange)
    // Node does not close this response, because the app has detached the connection.
    if (connection.current !== undefined) this.#end(connection.current)
    if (!connection.handedOver) return
    const { inService, lent } = this.processGate.permits
    for (const exchange of [...this.#apart, ...inService, ...lent]) {
      if (this.#connectionOf(exchange) === connection) this.#end(exchange)
    }
  }

  /** Handles a connection that uses another protocol from now on. */
  #onProtocolChange(connection: Connection<Exchange>): void {
    const { inService, lent } = this.processGate.permits
    for (const exchange of [...inService, ...lent]) {
      if (exchange.connection !== connection) continue
      if (exchange.response?.writableEnded === true) this.#handlerEnded(exchange, true, now())
      else this.#orphan(exchange)
    }
  }

  /** Handles a client that no longer waits for the answer, while the handler still works. */
  #orphan(exchange: Exchange, scope = exchange.times): void {
    const working = exchange.uploadEnd ?? exchange
    if (working.abandoned) return
    const ended = (): void => {
      working.budget?.settle()
      this.#handlerEnded(working, false, now())
    }
    this.#failOpen.guard(() => this.serverGate.checks.orphan(working, now(), scope, ended))
  }

  #handlerEnded(exchange: Exchange, answered: boolean, nowMs: number): void {
    const { permits } = this.processGate
    if (exchange.running !== undefined) exchange.running.request = undefined
    // After its 504 a response has ended, but its handler may still work.
    if (!exchange.answeredLate) exchange.budget?.settle()
    if (exchange.shadowMs !== undefined) {
      shadowHandlerEnded(exchange, nowMs, this.processGate)
      return
    }
    // This runs for every request, so it avoids the closure that guard() would need.
    try {
      if (answered) permits.answered(exchange, nowMs)
      else permits.drop(exchange, nowMs)
    } catch (error) {
      this.#failOpen.fail(error)
    }
  }

  #connectionOf({ connection, request }: Exchange): Connection<Exchange> | undefined {
    // The socket of an HTTP/2 client that has left must not be accessed.
    if (connection !== undefined || isHttp2(request) || request.socket == null) return connection
    return this.connections.at(request.socket)
  }
}

/** True if meltproof can no longer answer for a handler, because it has begun its answer or its stream was reset. */
function isOver(response: ServerResponse): boolean {
  return response.headersSent || streamOf(response)?.closed === true
}

/** If the response has no socket yet, the connection must end the exchange when the client leaves. */
function noteOverlap(connection: Connection<Exchange> | undefined, exchange: Exchange): void {
  const writing = connection?.socket._httpMessage
  if (writing == null || writing === exchange.response) return
  connection!.overlapping ??= new Set()
  connection!.overlapping.add(exchange)
}

type ParsedRequest = IncomingMessage & { upgrade?: boolean }

/** Marks a response, or a stream, that has passed a gate. Every installed copy of meltproof uses the same symbol. */
const ASKED = Symbol.for('meltproof.asked')
interface Asked {
  [ASKED]?: Exchange
}
type AskedResponse = ServerResponse & Asked

/** The object to mark: for HTTP/2 the stream, which an app may take both raw and as a request. */
function markOf(response: AskedResponse): Asked {
  return (streamOf(response) as Asked | undefined) ?? response
}
