/**
 * Stands between one Node server and its app, below any framework, and takes each request through
 *
 *     connection -> request -> gate -> permit | wait | shed -> handler -> response closed -> permit ended
 *
 * Nearly all requests are seen at the parser (at-parser.ts), before a ServerResponse exists. The others are seen at
 * `server.emit('request')`: connections injected by the app, HTTP/2, an `Upgrade` nobody listens for; and the streams of
 * HTTP/2 that the app takes raw (gRPC) at `server.emit('stream')`. All ask one gate.
 */
import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { GATE_TUNING, type GateTuning } from '../admission/gate.ts'
import type { Limiter } from '../admission/limiter/limiter.ts'
import { TurningAway, type TurningAwayTime } from '../admission/turning-away.ts'
import { now } from '../clock.ts'
import { cpuMs, loopWorkedMs } from '../signals/loop-worked.ts'
import { AtParser, noteOverlap, type ParserParts } from './at-parser.ts'
import { cameOverConnection } from './connection/came-over-connection.ts'
import type { Connection } from './connection/connection.ts'
import { Interception } from './connection/interception.ts'
import { Lines } from './connection/lines.ts'
import { FailOpen } from '../fail-open.ts'
import { decideDry } from './gate/dry-run.ts'
import { ServerGate } from './gate/server-gate.ts'
import { keepUploadEnd } from './gate/upload-ends.ts'
import { Waiting } from './gate/waiting.ts'
import type { GuardStats } from './guard.ts'
import { Handler } from './handler/handler.ts'
import { answerMs, type RequestDeadline } from './handler/request-deadline.ts'
import { Exchange } from './request/exchange.ts'
import type { RequestPolicy } from './request/policy.ts'
import { isRawStream } from './request/raw-streams.ts'
import { StreamRequest, watchCut } from './request/stream-request.ts'
import type { OwnAnswers } from './response/own-answers.ts'
import { StreamResponse } from './response/stream-response.ts'
import { Shedding } from './shed/shedding.ts'

export interface InterceptorOptions {
  /** In whose name requests are published. */
  readonly guard: object
  readonly limiter: Limiter
  readonly answers: OwnAnswers
  /** Something inside meltproof failed, and the server runs without it from now on. Called once. */
  readonly onFailure: (error: unknown) => void
  readonly policy?: RequestPolicy
  readonly tuning?: GateTuning
  readonly deadline?: RequestDeadline | undefined
}

export class RequestInterceptor {
  readonly parser: AtParser
  readonly gate: ServerGate
  readonly shedding: Shedding
  readonly #answers: OwnAnswers
  readonly #waiting: Waiting
  readonly #handler: Handler
  readonly #interception: Interception
  readonly #turningAway: TurningAwayTime
  readonly #decide: ParserParts['decide']
  readonly #onClose: (this: AskedResponse | undefined) => void
  /** The exchange that is being handed on to Node right now; its response arrives through `emit`. */
  #handingOn: Exchange | undefined

  constructor(server: Server, options: InterceptorOptions) {
    const { guard, limiter, answers, onFailure, policy = {}, tuning = GATE_TUNING, deadline } = options
    const source = { guard, server }
    const failOpen = new FailOpen({
      stepAside: () => {
        gate.stop()
        parser.readBodies()
        this.#interception.undo()
      },
      startWaiting: () => {
        shedding.putOffNothing()
        waiting.startAll()
      },
      onFailure,
    })
    const gate = new ServerGate({
      limiter,
      tuning,
      policy,
      failOpen,
      start: exchange => waiting.start(exchange),
      shed: (exchange, reason) => waiting.shed(exchange, reason),
      onUploadPaused: upload => {
        if (!policy.dryRun) keepUploadEnd(upload, exchange => this.#onUploadEnd(exchange))
      },
      onGone: exchange => handler.closed(exchange),
      answerMs: deadline && (request => answerMs(deadline, request)),
    })
    const turningAway = policy.turningAway ?? new TurningAway(loopWorkedMs, cpuMs)
    const lines = new Lines<Exchange>(server, (connection, exchange) => {
      if (failOpen.isOpen || parser.mayStart(connection, exchange)) waiting.startNow(exchange)
    })
    const shedding = new Shedding(source, answers, lines, turningAway, {
      askNode: exchange => {
        this.#handingOn = exchange
        waiting.startNow(exchange)
        this.#handingOn = undefined
      },
      count: (reason, atMs) =>
        gate.countShed(reason, atMs, reason === 'memory' ? policy.memory?.fullOf(atMs) : undefined),
      guarded: act => failOpen.guard(act),
    })
    const decide: ParserParts['decide'] = policy.dryRun
      ? (exchange, nowMs) => decideDry(exchange, nowMs, gate, shedding)
      : (exchange, nowMs) => gate.decide(exchange, nowMs)
    const waiting = new Waiting({
      gate,
      lines,
      shedding,
      connectionOf: exchange => parser.connectionOf(exchange),
      handOn: (connection, exchange) => this.#handOn(connection, exchange, true),
    })
    const parser = new AtParser({
      server,
      gate,
      lines,
      shedding,
      waiting,
      turningAway,
      bodySources: policy.dryRun ? undefined : policy.memory?.sources,
      decide,
      handOn: (connection, exchange) => this.#handOn(connection, exchange, false),
      onClosed: exchange => handler.closed(exchange),
      onTaken: exchange => handler.connectionTaken(exchange),
    })
    const handler = new Handler({
      source,
      policy,
      deadline,
      answers,
      gate,
      waiting,
      connectionOf: exchange => parser.connectionOf(exchange),
      emit: (event, request, response) =>
        event === 'stream'
          ? this.#interception.emit(event, ...(request as unknown as StreamRequest).event)
          : this.#interception.emit(event, request, response),
    })
    this.parser = parser
    this.gate = gate
    this.shedding = shedding
    this.#answers = answers
    this.#waiting = waiting
    this.#handler = handler
    this.#turningAway = turningAway
    this.#decide = decide
    // One for all: a listener of its own would cost each request a closure. An app may call it on something else.
    this.#onClose = function () {
      const exchange = this?.[ASKED]
      if (exchange !== undefined) handler.closed(exchange)
    }
    this.#interception = new Interception(server, {
      onRequest: (event, args) => this.#onRequestEvent(event, args),
      onStream: args => this.#onStreamEvent(server, args),
      onConnection: socket => parser.onConnection(socket),
      onCut: socket => parser.onCut(socket),
      onCutAll: () => parser.onCutAll(),
      onUpgrade: socket => parser.onUpgrade(socket),
      busy: lines.connections,
    })
  }

  stats(): Omit<GuardStats, 'open' | 'lanes' | 'draining' | 'dryRun'> {
    return { ...this.gate.stats(), exempt: this.gate.exempt, left: this.shedding.left }
  }

  lastAnswers(): void {
    this.shedding.leaving = true
    for (const connection of this.parser.connections) {
      for (const response of connection.unanswered()) this.parser.makeLast(response.req, response)
    }
  }

  shedAll(): void {
    if (this.gate.failOpen.isOpen) return
    this.shedding.putOffNothing()
    this.gate.failOpen.guard(() => this.gate.close())
  }

  open(): void {
    this.gate.failOpen.open()
  }

  /** Hands a request on to Node. Exceptions of the app's handler pass, as they do without us. */
  #handOn(connection: Connection<Exchange>, exchange: Exchange, later: boolean): number {
    const { request, keepAlive } = exchange
    if (!exchange.mayRun) return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    noteOverlap(connection, exchange)
    this.#turningAway.interrupted()
    this.#handingOn = exchange
    connection.current = exchange
    try {
      return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    } finally {
      this.#handingOn = undefined
      this.#handler.handedOn(exchange, connection)
    }
  }

  #onRequestEvent(event: string, args: unknown[]): boolean {
    const request = args[0] as IncomingMessage
    const response = args[1] as AskedResponse
    const exchange = this.#handingOn
    if (exchange === undefined || exchange.request !== request) {
      if (!cameOverConnection(request, response)) return this.#interception.emit(event, ...args)
      if (this.shedding.leaving) this.parser.makeLast(request, response)
      // The app emits some a second time itself: a 'checkContinue' listener that says yes emits 'request'.
      if (this.gate.failOpen.isOpen || markOf(response)[ASKED]) return this.#interception.emit(event, ...args)
      return this.#onLateRequest(event, request, response)
    }
    if (this.shedding.leaving) this.parser.makeLast(request, response)
    this.#handingOn = undefined
    exchange.response = response
    response[ASKED] = exchange
    if (exchange.mayRun) {
      response.on('close', this.#onClose)
      return this.#handler.run(exchange, event)
    }
    this.#answers.shed(request, response)
    return true
  }

  #onStreamEvent(server: Server, args: unknown[]): boolean {
    const { failOpen } = this.gate
    let asks: [IncomingMessage, ServerResponse] | undefined
    try {
      const isNew = !failOpen.isOpen && isRawStream(server, args) && (args[0] as Asked)[ASKED] === undefined
      if (isNew) asks = [StreamRequest.of(args), StreamResponse.of(args[0], args[1])]
    } catch (error) {
      failOpen.fail(error)
    }
    return asks === undefined ? this.#interception.emit('stream', ...args) : this.#onLateRequest('stream', ...asks)
  }

  /** A request that did not come by a parser of ours. */
  #onLateRequest(event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const exchange = new Exchange(request, undefined, true, now())
    exchange.response = response
    markOf(response)[ASKED] = exchange
    if ('stream' in request && !(request instanceof StreamRequest)) watchCut(request.stream as ServerHttp2Stream)
    let letGo: (() => void) | undefined
    const run = (): boolean => {
      letGo?.()
      return this.#handler.run(exchange, event)
    }
    try {
      const connection = this.parser.connectionOf(exchange)
      noteOverlap(connection, exchange)
      const decision = this.#decide(exchange, exchange.arrivedAt)
      // Nobody needs to know when a stream that is shed has closed.
      if (decision === 'start' || decision === 'wait' || connection !== undefined) this.#tellClosed(exchange, response)
      if (decision !== 'start' && request instanceof StreamRequest) letGo = request.hold()
      if (decision === 'wait') exchange.resume = AsyncResource.bind(() => void run())
      if (!this.#waiting.settle(exchange, decision)) return true
    } catch (error) {
      this.gate.failOpen.fail(error)
    }
    return run()
  }

  #tellClosed(exchange: Exchange, response: ServerResponse): void {
    const closed = (): void => this.#handler.closed(exchange)
    response.on('close', closed)
    // Node closes the responses that it has made itself, and no others.
    response.on('finish', () => process.nextTick(closed))
  }

  /** All of an upload has come whose permit had ended: what its handler does now needs one again. */
  #onUploadEnd(exchange: Exchange): void {
    const response = exchange.response!
    let starts = this.gate.failOpen.isOpen || response.headersSent || response.destroyed
    if (!starts) {
      try {
        response.on('close', () => this.#handler.closed(exchange))
        noteOverlap(this.parser.connectionOf(exchange), exchange)
        starts = this.#waiting.settle(exchange, this.gate.ask(exchange, exchange.arrivedAt))
      } catch (error) {
        this.gate.failOpen.fail(error)
        starts = true
      }
    }
    if (starts) this.#waiting.startNow(exchange)
  }
}

/** On a response, or a stream, that has been at a gate; every installed copy of meltproof uses the same symbol. */
const ASKED = Symbol.for('meltproof.asked')
interface Asked {
  [ASKED]?: Exchange
}
type AskedResponse = ServerResponse & Asked

/** What the mark is on: of HTTP/2 the stream, which an app may take raw and as a request. */
function markOf(response: AskedResponse & { readonly stream?: Asked }): Asked {
  return response.stream ?? response
}
