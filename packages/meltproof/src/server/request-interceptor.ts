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
import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GATE_TUNING, Gate, type GateTuning } from '../admission/gate.ts'
import { KnownKinds } from '../admission/known-kinds.ts'
import type { Limiter } from '../admission/limiter.ts'
import { PressureMeter } from '../admission/pressure.ts'
import { STAY_KINDS } from '../admission/stays.ts'
import type { ShedReason } from '../admission/shed-reason.ts'
import { TurningAway, type TurningAwayTime } from '../admission/turning-away.ts'
import { requestsAreObserved, sheds } from '../channels.ts'
import { now } from '../clock.ts'
import type { Budget } from '../deadline/budget.ts'
import { routeOf } from '../route.ts'
import type { Scope } from '../scope.ts'
import { loopTurn } from '../signals/loop-turn.ts'
import { cpuMs, loopWorkedMs } from '../signals/loop-worked.ts'
import { latenessNow } from '../timing/tracker.ts'
import { cameOverConnection } from './connection/came-over-connection.ts'
import { Connection, type HeadHandler } from './connection/connection.ts'
import { type HttpSocket, readOn } from './connection/http-socket.ts'
import { StandIns } from './permit/dry-run.ts'
import { Exchange } from './request/exchange.ts'
import { sendsEvents } from './permit/streaming-responses.ts'
import { handlerHasEnded, onlyServedItsClient } from './permit/handler-outcome.ts'
import { Interception } from './connection/interception.ts'
import { makeLast } from './response/last-answer.ts'
import { mute } from './response/muted-response.ts'
import type { OwnAnswers } from './response/own-answers.ts'
import { Lines } from './connection/lines.ts'
import { observed, publishRecord } from './response/observed.ts'
import { OpenConnections } from './connection/open-connections.ts'
import { LOOK_MS, Permits } from './permit/permits.ts'
import type { RequestPolicy } from './request/policy.ts'
import { describeHead } from './request/request-head.ts'
import type { RequestDeadlines } from './request/request-deadlines.ts'
import { type LastShed, Shedding } from './shed/shedding.ts'
import { UploadEnds } from './permit/upload-ends.ts'

export interface InterceptorHooks {
  /** Something inside meltproof failed and the door now stands open. Called once. */
  readonly onFailure: (error: unknown) => void
  /** Whether this client is told how long its answer took us. */
  readonly tellsTiming?: (request: IncomingMessage) => boolean
  /** Opens a budget for every request; absent when requests have no deadline. */
  readonly deadlines?: RequestDeadlines
}

/** What went through the door so far. */
export interface RequestCounts {
  admitted: number
  /** Started without asking at the gate, because the operator says so. */
  exempt: number
  /** In a dry run: would have been. */
  shed: Record<ShedReason, number>
}

export class RequestInterceptor {
  readonly counts: RequestCounts
  /** HTTP/1 connections whose parser we stand at. */
  readonly connections: OpenConnections = new OpenConnections()
  /** Sockets that are somebody else's since an 'upgrade' or 'connect'. */
  readonly upgraded: Set<Duplex> = new Set()
  readonly #server: Server
  readonly #hooks: InterceptorHooks
  readonly #policy: RequestPolicy
  readonly #gate: Gate<Exchange>
  readonly #kinds = new KnownKinds()
  readonly #pressure = new PressureMeter()
  readonly #turningAway: TurningAwayTime
  readonly #permits: Permits
  readonly #interception: Interception
  readonly #lines: Lines<Exchange>
  readonly #answers: OwnAnswers
  readonly #shedding: Shedding
  readonly #standIns: StandIns
  readonly #uploadEnds: UploadEnds
  /** Requests without a connection of ours that wait at the gate. */
  readonly #lateWaiters = new Set<Exchange>()
  readonly #heads: HeadHandler<Exchange> = {
    onHead: (connection, request, keepAlive) => this.#onHead(connection, request, keepAlive),
    refuse: (connection, rawHeaders, url, keepAlive) => this.#refuse(connection, rawHeaders, url, keepAlive),
  }
  #open = false
  #failed = false
  #activeAt = Number.NEGATIVE_INFINITY
  /** The exchange that is being handed on to Node right now; its response arrives through `emit`. */
  #handingOn: Exchange | undefined
  #timer: NodeJS.Timeout | undefined
  #lookTimer: NodeJS.Timeout | undefined

  constructor(
    server: Server,
    limiter: Limiter,
    answers: OwnAnswers,
    hooks: InterceptorHooks,
    tuning: GateTuning = GATE_TUNING,
    policy: RequestPolicy = {},
  ) {
    this.#server = server
    this.#answers = answers
    this.#policy = policy
    this.#turningAway = policy.turningAway ?? new TurningAway(loopWorkedMs, cpuMs)
    this.#hooks = hooks
    const turnEnded = (): void => this.#wake('turnEnded')
    const timeCame = (): void => this.#wake('timeCame')
    const { level, clients } = policy
    const gate = new Gate<Exchange>(
      limiter,
      {
        now,
        turn: loopTurn,
        start: exchange => this.#startWaited(exchange),
        shed: (exchange, reason) => this.#shedWaited(exchange, reason),
        wakeAtTurnEnd: () => setImmediate(turnEnded),
        wakeAfter: ms => {
          clearTimeout(this.#timer)
          this.#timer = setTimeout(timeCame, ms)
          this.#timer.unref()
        },
        level: level === undefined ? undefined : exchange => level(exchange.request),
        kind: exchange => this.#kindOf(exchange),
        kindInService: exchange => this.#stayKindOf(exchange),
        client: clients === undefined ? undefined : exchange => (exchange.client ??= clients.of(exchange.request)),
        startBy:
          hooks.deadlines === undefined
            ? undefined
            : exchange => exchange.answerBy - this.#permits.leastServiceMs(this.#stayKindOf(exchange)),
      },
      tuning,
    )
    const permits = new Permits(gate, tuning, {
      onAnswered: (exchange, nowMs) => this.#noteAnswered(exchange, nowMs),
      onUploadPaused: exchange => {
        if (!policy.dryRun) this.#uploadEnds.keep(exchange)
      },
      onGone: exchange => this.#onGone(exchange),
      loopBusyMs: policy.loopBusyMs,
    })
    this.#gate = gate
    this.#permits = permits
    const guarded = (act: () => void): void => this.#guarded(act)
    this.#standIns = new StandIns(permits, guarded)
    this.#lines = new Lines(server, (connection, exchange) => {
      if (this.#open || this.#mayStart(connection, exchange)) this.#handOnLater(exchange)
    })
    this.#shedding = new Shedding(server, answers, this.#lines, this.#turningAway, {
      askNode: exchange => {
        this.#handingOn = exchange
        this.#handOnLater(exchange)
        this.#handingOn = undefined
      },
      onShed: () => this.#pressure.shed(),
      facts: (reason, atMs) => ({
        reason,
        atMs,
        inflight: gate.inflight,
        stragglers: permits.stragglers,
        abandoned: permits.abandoned,
        limit: gate.limit,
        queued: gate.queued,
      }),
      guarded,
    })
    this.counts = { admitted: 0, exempt: 0, shed: this.#shedding.counts }
    this.#uploadEnds = new UploadEnds(this.#shedding, {
      isOpen: () => this.#open,
      ask: exchange => {
        const decision = this.#ask(exchange, exchange.arrivedAt)
        if (decision === 'start') this.#permit(exchange, exchange.arrivedAt)
        return decision
      },
      watch: exchange => {
        exchange.response!.on('close', () => this.#onGone(exchange))
        this.#noteOverlap(this.#connectionOf(exchange), exchange)
      },
      abandon: exchange => this.#abandon(exchange),
      fail: error => this.#fail(error),
    })
    this.#interception = new Interception(server, {
      onRequest: (event, args) => this.#onRequestEvent(event, args),
      onConnection: socket => this.#onConnection(socket),
      onTimeout: socket => this.#onTimeout(socket),
      onUpgrade: socket => this.#onUpgrade(socket),
      busy: this.#lines.connections,
    })
  }

  get inflight(): number {
    if (!this.#open) this.#guarded(() => this.#permits.lookAround(now()))
    return this.#gate.inflight
  }

  /** How many go on without a permit because they take far longer than others of their kind. */
  get stragglers(): number {
    return this.#permits.stragglers
  }

  /** How many handlers work on for clients that have left or were told that their deadline has passed. */
  get abandoned(): number {
    return this.#permits.abandoned
  }

  get queued(): number {
    return this.#gate.queued
  }

  pressure(): number {
    return this.#pressure.value(now())
  }

  /** How many may be in service at once; 0 when the limiter does not know what it says. */
  get limit(): number {
    try {
      return this.#gate.limit
    } catch {
      return 0
    }
  }

  get lastShed(): LastShed | undefined {
    return this.#shedding.last
  }

  /** When a connection or a request last came, or a request ended. */
  get activeAt(): number {
    return this.#activeAt
  }

  /** From now on every HTTP/1 answer that begins is the last one of its connection, until the door opens. */
  lastAnswers(): void {
    this.#shedding.leaving = true
    for (const connection of this.connections) {
      for (const response of connection.unanswered()) this.#makeLast(response.req, response)
    }
  }

  #makeLast(request: IncomingMessage, response: ServerResponse): void {
    if (request.httpVersionMajor >= 2) return
    const connection = Connection.of(request.socket, this.#heads)
    makeLast(request, response, () => connection?.hasLater(response) !== true)
  }

  /** Sheds everybody who waits and everybody who comes, exempt requests aside. */
  shedEverybody(): void {
    if (this.#open) return
    this.#shedding.putOffNothing()
    this.#guarded(() => this.#gate.close())
  }

  /** Opens the door for good: whoever waits is started, nobody is asked any more, the server is as before. */
  open(): void {
    if (this.#open) return
    this.#stepAside()
    this.#startEverybody()
  }

  #stepAside(): void {
    this.#open = true
    clearTimeout(this.#timer)
    clearTimeout(this.#lookTimer)
    this.#interception.undo()
  }

  #startEverybody(): void {
    this.#shedding.putOffNothing()
    for (const connection of [...this.#lines.connections]) {
      for (const exchange of this.#takeLine(connection)) this.#handOnLater(exchange)
      connection.resumeReading()
    }
    for (const exchange of this.#lateWaiters) {
      this.#abandon(exchange)
      this.#handOnLater(exchange)
    }
    this.#lateWaiters.clear()
    this.#uploadEnds.startAll()
  }

  // Connections ---------------------------------------------------------------------------------------------------

  #onConnection(socket: HttpSocket | undefined): void {
    // Apps emit these events themselves, with whatever they have.
    if (this.#open || typeof socket?.on !== 'function' || Connection.of(socket, this.#heads) !== undefined) return
    try {
      const connection = Connection.attach(socket, this.#heads)
      if (connection === undefined) return
      this.#activeAt = now()
      // Of no interest while nobody is turned away; and which turn it is costs a good part of a connection.
      if (this.#gate.queued > 0) this.#turningAway.spent(this.#activeAt, loopTurn())
      this.connections.add(connection)
      socket.on('close', () => this.#onDisconnect(connection))
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Node closes a connection on which nothing moves, though a handler may be at work. */
  #onTimeout(socket: HttpSocket | undefined): void {
    const connection = typeof socket === 'object' ? Connection.of(socket, this.#heads) : undefined
    if (connection !== undefined) connection.timedOut = true
  }

  /** The connection becomes somebody else's. */
  #onUpgrade(socket: Duplex | undefined): void {
    if (typeof socket?.on !== 'function' || typeof socket.destroy !== 'function') return
    try {
      socket.on('close', () => this.upgraded.delete(socket))
      readOn(socket as HttpSocket)
    } catch {
      return // that is no socket
    }
    this.upgraded.add(socket)
    const connection = Connection.of(socket as HttpSocket, this.#heads)
    if (connection !== undefined) this.connections.delete(connection)
  }

  #onDisconnect(connection: Connection<Exchange>): void {
    this.connections.delete(connection)
    const { overlapping } = connection
    this.#shedding.forget(connection)
    this.#takeLine(connection)
    if (overlapping !== undefined) for (const exchange of [...overlapping]) this.#onGone(exchange)
  }

  // A request arrives ---------------------------------------------------------------------------------------------

  /** A head was parsed. Answers what Node's parser expects: 0, or 2 for an upgrade. */
  #onHead(connection: Connection<Exchange>, request: ParsedRequest, keepAlive: boolean): number {
    if (connection.closing) {
      connection.forget(request)
      return 0
    }
    if (request.upgrade) {
      // Node's to decide, and at once; one nobody listens for comes back as a plain request through `emit`. It would
      // overtake whoever waits, and answers in the wrong order are answers to the wrong requests.
      if (connection.hasLine) this.#shedLine(connection)
      if (connection.closing) {
        connection.forget(request)
        return 0
      }
      connection.stopIdleTimeout(this.#server)
      const answer = connection.handOn(request, keepAlive)
      // Still true when somebody listens, whatever this Node answers its parser.
      if (request.upgrade) this.#guarded(() => this.#permits.dropAllOf(connection))
      return answer
    }
    const exchange = new Exchange(request, connection, keepAlive, now())
    if (connection.hasLine) {
      // Pipelined behind one that waits: HTTP/1.1 answers in order, so it can not go first.
      this.#lines.join(connection, exchange)
      return 0
    }
    if (this.#open) {
      connection.stopIdleTimeout(this.#server)
      return connection.handOn(request, keepAlive)
    }
    return this.#mayStart(connection, exchange) ? this.#handOn(connection, exchange) : 0
  }

  /**
   * A head was parsed and nothing made of it yet. Under a standing queue the usual shed: one write, and nothing
   * allocated for the request. Whatever is not plain takes the way of all others.
   */
  #refuse(connection: Connection<Exchange>, rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean {
    const { dryRun, exemptRequest, exemptUrl, memoryShort, clients } = this.#policy
    const short = memoryShort?.() === true
    // Asked for every request of a server that has time for all of them.
    if (!short && this.#gate.refusesNobody) return false
    // Whoever listens to sheds gets their requests, so these are made then.
    if (this.#open || !connection.quiet || sheds.hasSubscribers) return false
    if (dryRun || exemptRequest !== undefined || exemptUrl?.(url)) return false
    try {
      const nowMs = now()
      // Kinds matter, and cost, only while somebody waits.
      const kind = this.#gate.queued > 0 ? this.#kinds.of(url) : undefined
      const client = kind === undefined ? undefined : clients?.ofHead?.(connection.socket.remoteAddress, rawHeaders)
      const reason = short ? 'memory' : this.#gate.refuses(nowMs, kind, client)
      if (reason === undefined) return false
      const needs = describeHead(rawHeaders)
      if (needs.bodyBytes > 0 || needs.expects || !needs.namesHost) return false
      if (kind !== undefined) {
        this.#kinds.came(kind, nowMs)
        this.#gate.refused(nowMs, kind, client)
      }
      this.#activeAt = nowMs
      this.#pressure.offered(nowMs)
      this.#shedding.shedHead(connection, reason, needs.prefersHtml, keepAlive, nowMs)
      return true
    } catch (error) {
      this.#fail(error)
      return false
    }
  }

  /** Asks the gate. Sees to it that a request that does not start waits, or is answered. */
  #mayStart(connection: Connection<Exchange>, exchange: Exchange): boolean {
    try {
      const decision = this.#offer(exchange, exchange.arrivedAt)
      if (decision === 'wait') this.#lines.wait(connection, exchange)
      else if (decision === 'start') connection.stopIdleTimeout(this.#server)
      else this.#shed(exchange, decision)
      return decision === 'start'
    } catch (error) {
      this.#fail(error)
      return true
    }
  }

  /** Hands a request on to Node. Exceptions of the app's handler pass through here exactly as they do without us. */
  #handOn(connection: Connection<Exchange>, exchange: Exchange, later = false): number {
    const { request, keepAlive } = exchange
    if (!exchange.holdsPermit && !exchange.ungated) {
      return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    }
    this.#noteOverlap(connection, exchange)
    this.#turningAway.interrupted()
    this.#handingOn = exchange
    try {
      return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    } finally {
      this.#handingOn = undefined
      // If Node answered by itself (no Host header, a 417), no response came by.
      if (exchange.response === undefined) {
        connection.overlapping?.delete(exchange)
        this.#ended(exchange, true)
      } else if (exchange.response.headersSent && this.#gate.queued > 0 && sendsEvents(exchange.response)) {
        // With thousands of event sources that connect at once, each look for flows is one too late.
        this.#guarded(() => this.#permits.answered(exchange, now()))
      }
    }
  }

  /** Sees to it that an exchange whose response has no socket yet learns when the client goes away. */
  #noteOverlap(connection: Connection<Exchange> | undefined, exchange: Exchange): void {
    const writing = connection?.socket._httpMessage
    if (writing == null || writing === exchange.response) return
    connection!.overlapping ??= new Set()
    connection!.overlapping.add(exchange)
  }

  #offer(exchange: Exchange, nowMs: number): Decision {
    this.#activeAt = nowMs
    const { dryRun, memoryShort } = this.#policy
    if (this.#isExempt(exchange.request)) {
      exchange.ungated = true
      this.counts.exempt++
      return 'start'
    }
    if (dryRun && this.#shedding.refusedByNode(exchange, describeHead(exchange.request.rawHeaders))) {
      exchange.ungated = true
      this.counts.admitted++
      return 'start'
    }
    this.#pressure.offered(nowMs)
    const { deadlines } = this.#hooks
    if (deadlines !== undefined) exchange.answerBy = exchange.arrivedAt + deadlines.answerMs(exchange.request)
    const decision = memoryShort?.() ? 'memory' : this.#ask(exchange, nowMs)
    if (dryRun && decision !== 'start') {
      exchange.ungated = true
      if (decision === 'wait') {
        exchange.shadow = true
        this.#pressure.waited()
      } else this.#shedding.count(decision, nowMs)
      return 'start'
    }
    if (decision === 'start') this.#permit(exchange, nowMs)
    else if (decision === 'wait') this.#pressure.waited()
    // Sat in its socket while the loop was stalled? Only now can that be seen.
    if (requestsAreObserved() && (decision === 'start' || decision === 'wait')) {
      exchange.lateMs = latenessNow(nowMs, exchange.connection?.answeredAtMs ?? Number.NEGATIVE_INFINITY)
    }
    return decision
  }

  #ask(exchange: Exchange, nowMs: number): Decision {
    if (this.#gate.full) this.#permits.makeRoom(nowMs)
    const decision = exchange.again ? this.#gate.offerAgain(exchange, nowMs) : this.#gate.offer(exchange, nowMs)
    if (decision === 'wait') this.#lookWhileWaiting()
    return decision
  }

  #isExempt(request: IncomingMessage): boolean {
    const { exemptUrl, exemptRequest } = this.#policy
    return exemptUrl?.(request.url ?? '') === true || exemptRequest?.(request) === true
  }

  #permit(exchange: Exchange, nowMs: number): void {
    this.#permits.take(exchange, nowMs)
    // The end of an upload is no request.
    if (!exchange.again) this.counts.admitted++
  }

  /** Node hands a request to the app. */
  #onRequestEvent(event: string, args: unknown[]): boolean {
    const request = args[0] as IncomingMessage
    const response = args[1] as AskedResponse
    const exchange = this.#handingOn
    const handedOn = exchange !== undefined && exchange.request === request
    if (!handedOn && !cameOverConnection(request, response)) return this.#interception.emit(event, ...args)
    if (this.#shedding.leaving) this.#makeLast(request, response)
    if (handedOn) {
      this.#handingOn = undefined
      exchange.response = response
      response[ASKED] = true
      if (exchange.holdsPermit || exchange.ungated) {
        response.on('close', () => this.#onGone(exchange))
        return this.#enter(exchange, event, request, response)
      }
      this.#answers.shed(request, response)
      return true
    }
    // The app emits some a second time itself: a 'checkContinue' listener that says yes emits 'request'.
    if (this.#open || response[ASKED]) return this.#interception.emit(event, ...args)
    response[ASKED] = true
    return this.#onLateRequest(event, request, response)
  }

  // Requests that did not come by a parser of ours --------------------------------------------------------------

  #onLateRequest(event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const exchange = new Exchange(request, undefined, true, now())
    exchange.response = response
    exchange.event = event
    try {
      response.on('close', () => this.#onGone(exchange))
      // Node closes the responses that it has made itself, and no others.
      response.on('finish', () => process.nextTick(() => this.#onGone(exchange)))
      this.#noteOverlap(Connection.of(request.socket, this.#heads), exchange)
      const decision = this.#offer(exchange, exchange.arrivedAt)
      if (decision === 'wait') {
        exchange.context = new AsyncResource('MELTPROOF_WAIT')
        this.#lateWaiters.add(exchange)
      } else if (decision !== 'start') this.#shed(exchange, decision)
      if (decision !== 'start') return true
    } catch (error) {
      this.#fail(error)
    }
    return this.#enter(exchange, event, request, response)
  }

  /** Hands a request that got past the gate to the app; under its budget where requests have one. */
  #enter(exchange: Exchange, event: string, request: IncomingMessage, response: ServerResponse): boolean {
    if (exchange.ungated && this.#policy.answers?.(request, response) === true) return true
    const { deadlines } = this.#hooks
    if (deadlines === undefined) return this.#enterUnhurried(exchange, event, request, response)
    let budget: Budget
    try {
      budget = deadlines.open(exchange, request, response, () => this.#answerLate(exchange, request, response))
    } catch (error) {
      this.#fail(error)
      return this.#enterUnhurried(exchange, event, request, response)
    }
    return deadlines.run(budget, () => this.#enterUnhurried(exchange, event, request, response))
  }

  /** With its timeline when somebody wants to know. */
  #enterUnhurried(exchange: Exchange, event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const tells = this.#tellsTiming(request)
    let returned = false
    try {
      const handled =
        !tells && !requestsAreObserved()
          ? this.#interception.emit(event, request, response)
          : observed(exchange, request, response, tells, () => this.#interception.emit(event, request, response))
      returned = true
      return handled
    } finally {
      // Its exception passes; nobody will end the response, and the permit ends when the client leaves.
      if (!returned) exchange.threw = true
    }
  }

  #tellsTiming(request: IncomingMessage): boolean {
    const { tellsTiming } = this.#hooks
    if (tellsTiming === undefined) return false
    try {
      return tellsTiming(request)
    } catch {
      return false // the session of an HTTP/2 client that has gone has no address any more
    }
  }

  /** Its response is closed. */
  #onGone(exchange: Exchange): void {
    const nowMs = now()
    this.#activeAt = nowMs
    const { times } = exchange
    const connection = this.#connectionOf(exchange)
    const pipelined = connection?.overlapping?.delete(exchange) === true
    if (times !== undefined) publishRecord(this.#server, exchange, times, nowMs)
    // Only these two sorts can be in either; nearly every request is neither, and is spared the look.
    if (exchange.connection === undefined && this.#lateWaiters.delete(exchange)) this.#abandon(exchange)
    else if (this.#uploadEnds.gone(exchange) || exchange.abandoned) return
    else if (handlerHasEnded(exchange, connection, pipelined))
      this.#ended(exchange, exchange.response?.headersSent === true, nowMs)
    else if (onlyServedItsClient(exchange)) this.#ended(exchange, false, nowMs)
    else this.#abandonWork(exchange, times)
  }

  /** Its deadline has passed. */
  #answerLate(exchange: Exchange, request: IncomingMessage, response: ServerResponse): void {
    this.#answers.late(request, response)
    mute(response)
    exchange.answeredLate = true
    if (exchange.resumedAs !== undefined) exchange.resumedAs.answeredLate = true
    this.#abandonWork(exchange, exchange.times)
  }

  /** Nobody waits for its answer any more, but its handler works on. */
  #abandonWork(exchange: Exchange, scope: Scope | undefined): void {
    const working = exchange.resumedAs ?? exchange
    if (working.abandoned || (!working.shadow && !this.#permits.has(working))) return
    this.#guarded(() => this.#permits.abandon(working, now(), scope, () => this.#ended(working, false)))
  }

  #connectionOf({ connection, request }: Exchange): Connection<Exchange> | undefined {
    // The socket of an HTTP/2 client that has gone is not to be asked anything.
    if (connection !== undefined || request.httpVersionMajor >= 2 || request.socket == null) return connection
    return Connection.of(request.socket, this.#heads)
  }

  // What the gate decides later -----------------------------------------------------------------------------------

  #wake(occasion: 'turnEnded' | 'timeCame'): void {
    if (this.#open) return
    try {
      const nowMs = now()
      if (this.#gate.queued > 0) this.#permits.makeRoom(nowMs)
      this.#gate[occasion](now())
    } catch (error) {
      this.#fail(error)
    }
  }

  #startWaited(exchange: Exchange): void {
    if (exchange.shadow) {
      this.#permit(exchange, now())
      this.#standIns.started(exchange)
      return
    }
    if (this.#connectionOf(exchange)?.socket.destroyed) {
      // Its client has gone, and the news is still to come.
      this.#leaveWaiting(exchange)
      this.#gate.drop(now(), 0, exchange)
      return
    }
    this.#permit(exchange, now())
    if (this.#uploadEnds.start(exchange)) return
    this.#leaveWaiting(exchange)
    this.#handOnLater(exchange)
  }

  /** Runs the handler of a request that waited. What the app throws surfaces as uncaught, as it does without us. */
  #handOnLater(exchange: Exchange): void {
    const { connection, context } = exchange
    try {
      if (connection !== undefined) this.#handOn(connection, exchange, true)
      else {
        const emit = (): unknown => this.#enter(exchange, exchange.event, exchange.request, exchange.response!)
        if (context === undefined) emit()
        else context.runInAsyncScope(emit)
      }
    } catch (error) {
      process.nextTick(() => {
        throw error
      })
    }
  }

  #shedWaited(exchange: Exchange, reason: ShedReason): void {
    if (exchange.shadow) {
      this.#shedding.count(reason, now())
      return
    }
    if (this.#uploadEnds.shed(exchange, reason)) return
    this.#leaveWaiting(exchange)
    try {
      this.#shed(exchange, reason)
    } catch (error) {
      this.#fail(error)
      this.#handOnLater(exchange)
    }
  }

  #leaveWaiting(exchange: Exchange): void {
    if (exchange.connection === undefined) this.#lateWaiters.delete(exchange)
    else this.#lines.move(exchange.connection)
  }

  /** Everybody in line, in order; nobody of them waits at the gate any more. */
  #takeLine(connection: Connection<Exchange>): Exchange[] {
    const { waiting } = connection
    const line = this.#lines.takeAll(connection)
    if (waiting !== undefined) this.#abandon(waiting)
    return line
  }

  /** Answers everybody in line, in order, because something came that can not wait. */
  #shedLine(connection: Connection<Exchange>): void {
    this.#shedding.answerOwed(connection)
    const line = this.#takeLine(connection)
    this.#guarded(() => {
      for (const exchange of line) {
        if (connection.closing) break
        this.#shed(exchange, 'upgrade')
        this.#shedding.answerOwed(connection)
      }
      connection.resumeReading()
    })
  }

  #shed(exchange: Exchange, reason: ShedReason): void {
    // What Node refuses is counted as where there is room.
    if (!this.#shedding.shed(exchange, reason)) this.counts.admitted++
  }

  // Leaving -------------------------------------------------------------------------------------------------------

  /** Its handler has ended. `answered`: with an answer of its own. */
  #ended(exchange: Exchange, answered: boolean, nowMs: number = now()): void {
    exchange.budget?.settle()
    if (exchange.shadow) this.#standIns.handlerEnded(exchange, nowMs)
    else {
      // Once a request: not worth a closure for #guarded().
      try {
        if (answered) this.#permits.answered(exchange, nowMs)
        else this.#permits.drop(exchange, nowMs)
      } catch (error) {
        this.#fail(error)
      }
    }
  }

  /** What fails inside opens the door. */
  #guarded(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Asked first when it comes to wait. */
  #kindOf(exchange: Exchange): number {
    if (!exchange.kindCame) {
      exchange.kindCame = true
      exchange.kind = this.#kinds.of(exchange.url)
      this.#kinds.came(exchange.kind, exchange.arrivedAt)
    }
    return exchange.kind
  }

  /** Reading an order is another matter than placing one, though the path is the same. */
  #stayKindOf(exchange: Exchange): number {
    const kind = this.#kinds.of(exchange.url)
    if (exchange.kind < 0) exchange.kind = kind
    const method = String(exchange.request.method ?? '')
    return ((this.#kinds.path >>> 0) + 37 * method.length + (method.charCodeAt(0) || 0)) % STAY_KINDS
  }

  #noteAnswered({ request, response, kind, url }: Exchange, nowMs: number): void {
    if (response?.statusCode === NOT_FOUND) this.#kinds.notFound(kind, url)
    else this.#kinds.answered(kind, url, nowMs, this.#gate.standing, routeOf(request))
  }

  /** Its client has gone, or the door is open. */
  #abandon(exchange: Exchange): void {
    try {
      this.#gate.abandon(exchange, now())
    } catch (error) {
      this.#fail(error)
    }
  }

  /** An answer that becomes a flow while the loop rests tells nobody, nor does a request that outstays. */
  #lookWhileWaiting(): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined
      if (this.#open || this.#gate.queued === 0) return
      this.#wake('timeCame')
      this.#lookWhileWaiting()
    }, LOOK_MS).unref()
  }

  // Failure -------------------------------------------------------------------------------------------------------

  #fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    if (!this.#open) {
      this.#stepAside()
      // Not now: whoever is being decided on has to go first, or pipelined answers would change places.
      process.nextTick(() => this.#startEverybody())
    }
    this.#hooks.onFailure(error)
  }
}

/** Who makes paths up gets it for any. */
const NOT_FOUND = 404

type Decision = ReturnType<Gate<Exchange>['offer']>
/** Marks responses whose request has been at a gate; shared by every installed copy of meltproof. */
const ASKED = Symbol.for('meltproof.asked')
type AskedResponse = ServerResponse & { [ASKED]?: true }

/** Node marks a request that asks to change the protocol. */
type ParsedRequest = IncomingMessage & { upgrade?: boolean }
