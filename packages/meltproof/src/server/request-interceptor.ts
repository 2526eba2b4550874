/**
 * Stands between one Node server and its app, below any framework, and takes each request through
 *
 *     connection -> request -> gate -> permit | wait | shed -> handler -> response closed -> permit ended
 *
 * There are two places of interception. At the parser (connection/) nearly all requests are seen before a ServerResponse
 * exists. At `server.emit('request')` the others are: connections injected by the app, HTTP/2, an `Upgrade` nobody
 * listens for. Both ask the same gate.
 *
 * Knows Node's HTTP server; knows nothing of options, lanes or limits.
 */
import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type Decision, GATE_TUNING, type GateTuning } from '../admission/gate.ts'
import type { Limiter } from '../admission/limiter.ts'
import { TurningAway, type TurningAwayTime } from '../admission/turning-away.ts'
import { now } from '../clock.ts'
import { cpuMs, loopWorkedMs } from '../signals/loop-worked.ts'
import { cameOverConnection } from './connection/came-over-connection.ts'
import type { Connection } from './connection/connection.ts'
import { Interception } from './connection/interception.ts'
import { Lines } from './connection/lines.ts'
import { Connections, noteOverlap } from './connections.ts'
import { FailOpen } from './fail-open.ts'
import { DryRun } from './gate/dry-run.ts'
import { ServerGate } from './gate/server-gate.ts'
import { keepUploadEnd } from './gate/upload-ends.ts'
import { Waiting } from './gate/waiting.ts'
import type { GuardStats } from './guard.ts'
import { Handler } from './handler/handler.ts'
import type { RequestDeadlines } from './handler/request-deadlines.ts'
import { RequestEnd } from './handler/request-end.ts'
import type { LastShed } from './operate/explanation.ts'
import { ParsedHeads } from './parsed-heads.ts'
import { Exchange } from './request/exchange.ts'
import type { RequestPolicy } from './request/policy.ts'
import type { ShedAnswers } from './shed/shed-answer.ts'
import { Shedding } from './shed/shedding.ts'

export interface InterceptorOptions {
  readonly limiter: Limiter
  readonly answers: ShedAnswers
  /** Something inside meltproof failed, and the server runs without it from now on. Called once. */
  readonly onFailure: (error: unknown) => void
  readonly policy?: RequestPolicy
  readonly tuning?: GateTuning
  /** Opens a budget for every request; absent when requests have no deadline. */
  readonly deadlines?: RequestDeadlines | undefined
}

export class RequestInterceptor {
  readonly connections: Connections
  readonly #failOpen: FailOpen
  readonly #turningAway: TurningAwayTime
  readonly #gate: ServerGate
  readonly #shedding: Shedding
  readonly #waiting: Waiting
  readonly #end: RequestEnd
  readonly #handler: Handler
  readonly #interception: Interception
  readonly #decide: (exchange: Exchange, nowMs: number) => Decision
  readonly #onClose: (this: AskedResponse) => void
  /** The exchange that is being handed on to Node right now; its response arrives through `emit`. */
  #handingOn: Exchange | undefined

  constructor(server: Server, options: InterceptorOptions) {
    const { limiter, answers, onFailure, policy = {}, tuning = GATE_TUNING, deadlines } = options
    const failOpen = new FailOpen({
      stepAside: () => {
        gate.stop()
        this.#interception.undo()
      },
      startWaiting: () => {
        shedding.putOffNothing()
        waiting.startAll()
      },
      onFailure,
    })
    const gate = new ServerGate(limiter, tuning, policy, failOpen, {
      start: exchange => waiting.start(exchange),
      shed: (exchange, reason) => waiting.shed(exchange, reason),
      onUploadPaused: upload => {
        if (!policy.dryRun) keepUploadEnd(upload, exchange => this.#onUploadEnd(exchange))
      },
      onGone: exchange => end.closed(exchange),
      answerMs: deadlines && (request => deadlines.answerMs(request)),
    })
    const turningAway = policy.turningAway ?? new TurningAway(loopWorkedMs, cpuMs)
    const lines = new Lines(server, (connection, exchange) => {
      if (failOpen.isOpen || heads.mayStart(connection, exchange)) waiting.startNow(exchange)
    })
    const shedding = new Shedding(server, answers, lines, turningAway, {
      askNode: exchange => {
        this.#handingOn = exchange
        waiting.startNow(exchange)
        this.#handingOn = undefined
      },
      onShed: () => gate.pressure.shed(),
      facts: gate,
      guarded: act => failOpen.guard(act),
    })
    const dryRun = new DryRun(gate, shedding, failOpen)
    const decide = policy.dryRun
      ? (exchange: Exchange, nowMs: number) => dryRun.decide(exchange, nowMs)
      : (exchange: Exchange, nowMs: number) => gate.decide(exchange, nowMs)
    const handOn = (connection: Connection, exchange: Exchange): number => this.#handOn(connection, exchange, false)
    const waiting = new Waiting(gate, lines, shedding, dryRun, failOpen, (connection, exchange) =>
      this.#handOn(connection, exchange, true),
    )
    const heads = new ParsedHeads({ server, gate, lines, shedding, waiting, failOpen, decide, handOn })
    const connections = new Connections(server, gate, turningAway, failOpen, {
      onHead: (connection, request, keepAlive) => heads.parsed(connection, request, keepAlive),
      refuse: (connection, rawHeaders, url, keepAlive) => heads.refuse(connection, rawHeaders, url, keepAlive),
      onDisconnect: connection => {
        const { overlapping } = connection
        waiting.takeLine(connection)
        if (overlapping !== undefined) for (const exchange of [...overlapping]) end.closed(exchange)
      },
    })
    const end = new RequestEnd(server, gate, waiting, dryRun, failOpen, exchange => connections.of(exchange))
    this.connections = connections
    this.#failOpen = failOpen
    this.#turningAway = turningAway
    this.#gate = gate
    this.#shedding = shedding
    this.#waiting = waiting
    this.#end = end
    this.#decide = decide
    this.#handler = new Handler(policy, deadlines, end, failOpen, (event, request, response) =>
      this.#interception.emit(event, request, response),
    )
    // One for all: a listener of its own would cost each request a closure.
    this.#onClose = function () {
      end.closed(this[ASKED]!)
    }
    this.#interception = new Interception(server, {
      onRequest: (event, args) => this.#onRequestEvent(event, args),
      onConnection: socket => connections.came(socket),
      onTimeout: socket => connections.timedOut(socket),
      onUpgrade: socket => connections.changedProtocol(socket),
      busy: lines.connections,
    })
  }

  // For the guard -------------------------------------------------------------------------------------------------

  stats(): Omit<GuardStats, 'lanes' | 'draining' | 'dryRun'> {
    const { permits } = this.#gate
    if (!this.#failOpen.isOpen) this.#failOpen.guard(() => permits.lookAround(now()))
    const { inflight, queued, admitted, exempt } = this.#gate
    return {
      inflight,
      stragglers: permits.stragglers,
      abandoned: permits.abandoned,
      queued,
      limit: this.#limit(),
      admitted,
      exempt,
      shed: { ...this.#shedding.counts },
      pressure: this.pressure(),
    }
  }

  /** 0 when the limiter does not know what it says. */
  #limit(): number {
    try {
      return this.#gate.limit
    } catch {
      return 0
    }
  }

  pressure(): number {
    return this.#gate.pressure.value(now())
  }

  get lastShed(): LastShed | undefined {
    return this.#shedding.last
  }

  /** When a connection or a request last came, or a request ended. */
  get activeAt(): number {
    return this.#gate.activeAt
  }

  /** From now on every HTTP/1 answer that begins is the last one of its connection. */
  lastAnswers(): void {
    this.#shedding.leaving = true
    this.connections.makeAllLast()
  }

  /** Sheds every request that waits and every one that comes, exempt ones aside. */
  shedEverybody(): void {
    if (this.#failOpen.isOpen) return
    this.#shedding.putOffNothing()
    this.#failOpen.guard(() => this.#gate.close())
  }

  /** Takes meltproof off the server for good: requests that wait are started. */
  open(): void {
    this.#failOpen.open()
  }

  // To the handler ------------------------------------------------------------------------------------------------

  /** Hands a request on to Node. Exceptions of the app's handler pass, as they do without us. */
  #handOn(connection: Connection, exchange: Exchange, later: boolean): number {
    const { request, keepAlive } = exchange
    if (!exchange.mayRun) return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    noteOverlap(connection, exchange)
    this.#turningAway.interrupted()
    this.#handingOn = exchange
    try {
      return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    } finally {
      this.#handingOn = undefined
      this.#end.handedOn(exchange, connection)
    }
  }

  // At server.emit('request') -------------------------------------------------------------------------------------

  #onRequestEvent(event: string, args: unknown[]): boolean {
    const request = args[0] as IncomingMessage
    const response = args[1] as AskedResponse
    const exchange = this.#handingOn
    if (exchange === undefined || exchange.request !== request) {
      if (!cameOverConnection(request, response)) return this.#interception.emit(event, ...args)
      if (this.#shedding.leaving) this.connections.makeLast(request, response)
      // The app emits some a second time itself: a 'checkContinue' listener that says yes emits 'request'.
      if (this.#failOpen.isOpen || response[ASKED]) return this.#interception.emit(event, ...args)
      return this.#onLateRequest(event, request, response)
    }
    if (this.#shedding.leaving) this.connections.makeLast(request, response)
    this.#handingOn = undefined
    exchange.response = response
    response[ASKED] = exchange
    if (exchange.mayRun) {
      response.on('close', this.#onClose)
      return this.#handler.run(exchange, event, request, response)
    }
    this.#shedding.throughNode(exchange, response)
    return true
  }

  /** A request that did not come by a parser of ours. */
  #onLateRequest(event: string, request: IncomingMessage, response: AskedResponse): boolean {
    const exchange = new Exchange(request, undefined, true, now())
    exchange.response = response
    response[ASKED] = exchange
    const run = (): boolean => this.#handler.run(exchange, event, request, response)
    try {
      response.on('close', this.#onClose)
      // Node closes the responses that it has made itself, and no others.
      response.on('finish', () => process.nextTick(() => this.#end.closed(exchange)))
      noteOverlap(this.connections.of(exchange), exchange)
      const decision = this.#decide(exchange, exchange.arrivedAt)
      if (decision === 'wait') exchange.resume = AsyncResource.bind(() => void run())
      if (!this.#waiting.settle(exchange, decision)) return true
    } catch (error) {
      this.#failOpen.fail(error)
    }
    return run()
  }

  /** All of an upload has come whose permit had ended: what its handler does now needs one again. */
  #onUploadEnd(exchange: Exchange): void {
    const response = exchange.response!
    let starts = this.#failOpen.isOpen || response.headersSent || response.destroyed
    if (!starts) {
      try {
        response.on('close', () => this.#end.closed(exchange))
        noteOverlap(this.connections.of(exchange), exchange)
        starts = this.#waiting.settle(exchange, this.#gate.decideAgain(exchange))
      } catch (error) {
        this.#failOpen.fail(error)
        starts = true
      }
    }
    if (starts) this.#waiting.startNow(exchange)
  }
}

/** On a response whose request has been at a gate; every installed copy of meltproof uses the same symbol. */
const ASKED = Symbol.for('meltproof.asked')
type AskedResponse = ServerResponse & { [ASKED]?: Exchange }
