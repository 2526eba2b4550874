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
import type { LimitLaw } from '../admission/limit.ts'
import { PressureMeter } from '../admission/pressure.ts'
import { STAY_KINDS } from '../admission/stays.ts'
import type { ShedReason } from '../admission/shed-reason.ts'
import { TurningAway, type TurningAwayTime } from '../admission/turning-away.ts'
import { requestsAreObserved, sheds } from '../channels.ts'
import { httpDate, now } from '../clock.ts'
import type { Budget } from '../deadline/budget.ts'
import { routeOf } from '../route.ts'
import type { Scope } from '../scope.ts'
import { loopTurn } from '../signals/loop-turn.ts'
import { cpuMs, loopWorkedMs } from '../signals/loop-worked.ts'
import { latenessNow } from '../timing/keeper.ts'
import { cameOverConnection } from './came-over-connection.ts'
import { Connection, type HttpSocket, readOn, sparing } from './connection.ts'
import { Exchange } from './exchange.ts'
import type { LastShed } from './explanation.ts'
import { sendsEvents, waitsForBody } from './flows.ts'
import { answerAfterEnd } from './half-open.ts'
import { HeldAnswers, MOST_HELD_MS } from './held-answers.ts'
import { keepEnd } from './kept-end.ts'
import { makeLast } from './last-answer.ts'
import { endAfter, endConnection } from './last-of-connection.ts'
import { mute } from './late-answer.ts'
import { observed, publishRecord } from './observed.ts'
import { OpenConnections } from './open-connections.ts'
import { LOOK_MS, Permits } from './permits.ts'
import type { DoorPolicy } from './policy.ts'
import { describeHead, type HeadNeeds } from './request-head.ts'
import type { RequestDeadlines } from './request-deadlines.ts'
import { RouteCosts } from './route-costs.ts'
import type { AnswerChoice, ShedAnswers } from './shed-answer.ts'

export interface DoorkeeperHooks {
  /** Something inside meltproof failed and the door now stands open. Called once. */
  readonly onFailure: (error: unknown) => void
  /** Whether this client is told how long its answer took us. */
  readonly tellsTiming?: (request: IncomingMessage) => boolean
  /** Opens a budget for every request; absent when requests have no deadline. */
  readonly deadlines?: RequestDeadlines
}

/** What went through the door so far. */
export interface DoorCounts {
  admitted: number
  /** Started without asking at the gate, because the operator says so. */
  exempt: number
  /** In a dry run: would have been. */
  shed: Record<ShedReason, number>
}

/**
 * With so many pipelined requests behind one that waits, no more are read. Not at the first: a socket that is not read
 * does not tell that its client has gone.
 */
const MOST_BEHIND = 16
/** Bodies up to this are read and dropped after a shed and the connection kept; bytes. */
const DROPPABLE_BODY = 65_536

export class Doorkeeper {
  readonly counts: DoorCounts = {
    admitted: 0,
    exempt: 0,
    shed: { standing: 0, stale: 0, late: 0, full: 0, deadline: 0, closing: 0, memory: 0, upgrade: 0 },
  }
  readonly routeCosts: RouteCosts = new RouteCosts()
  /** HTTP/1 connections whose parser we stand at. */
  readonly connections: OpenConnections = new OpenConnections()
  /** Sockets that are somebody else's since an 'upgrade' or 'connect'. */
  readonly upgraded: Set<Duplex> = new Set()
  readonly #server: Server
  /** What the server's emit was, or its prototype's at this moment: tracers patch that one, also later. */
  readonly #emit: () => Emit
  readonly #answers: ShedAnswers
  readonly #hooks: DoorkeeperHooks
  readonly #policy: DoorPolicy
  readonly #gate: Gate<Exchange>
  readonly #kinds = new KnownKinds()
  readonly #pressure = new PressureMeter()
  readonly #turningAway: TurningAwayTime
  readonly #heldAnswers: HeldAnswers
  /** No answer is put off: something comes behind it that can not wait, or the server goes away. */
  #answersNow = false
  readonly #permits: Permits
  /** Those with a request that waits, or requests pipelined behind one that did. */
  readonly #linedConnections = new Set<Connection>()
  /** Those among them whose next in line may ask at the gate. */
  #movedLines: Connection[] = []
  readonly #lateWaiters = new Set<Exchange>()
  readonly #undo: (() => void)[] = []
  #open = false
  #failed = false
  /** Answers that begin now are the last ones of their connections. */
  #leaving = false
  #activeAt = Number.NEGATIVE_INFINITY
  /** The exchange that is being handed on to Node right now; its response arrives through `emit`. */
  #handingOn: Exchange | undefined
  #timer: NodeJS.Timeout | undefined
  #lookTimer: NodeJS.Timeout | undefined
  /** Uploads that are over and wait for a permit again. */
  readonly #heldUploads = new Set<Exchange>()
  #lastShed: { -readonly [K in keyof LastShed]: LastShed[K] } | undefined

  constructor(
    server: Server,
    law: LimitLaw,
    answers: ShedAnswers,
    hooks: DoorkeeperHooks,
    tuning: GateTuning = GATE_TUNING,
    policy: DoorPolicy = {},
  ) {
    this.#server = server
    this.#policy = policy
    this.#turningAway = policy.turningAway ?? new TurningAway(loopWorkedMs, cpuMs)
    this.#heldAnswers = new HeldAnswers(this.#turningAway, connection =>
      this.#guarded(() => this.#answerOwed(connection)),
    )
    const own = Object.hasOwn(server, 'emit') ? (server.emit as Emit) : undefined
    this.#emit = () => own ?? (Object.getPrototypeOf(server).emit as Emit)
    this.#answers = answers
    this.#hooks = hooks
    const turnEnded = (): void => this.#wake('turnEnded')
    const timeCame = (): void => this.#wake('timeCame')
    const { level, clients } = policy
    this.#gate = new Gate<Exchange>(
      law,
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
    this.#permits = new Permits(this.#gate, tuning, {
      onAnswered: (exchange, nowMs) => this.#noteAnswered(exchange, nowMs),
      onUploadPaused: exchange => this.#askAgainAfterUpload(exchange),
      onGone: exchange => this.#onGone(exchange),
      loopBusyMs: policy.loopBusyMs,
    })
    this.#interceptEmit(own)
    this.#interceptIdleClosing()
  }

  get inflight(): number {
    if (!this.#open) this.#guarded(() => this.#permits.lookAround(now()))
    return this.#gate.inflight
  }

  /** How many go on without a permit because they take far longer than others of their kind. */
  get outstaying(): number {
    return this.#permits.outstaying
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

  /** How many may be in service at once; 0 when the law does not know what it says. */
  get limit(): number {
    try {
      return this.#gate.limit
    } catch {
      return 0
    }
  }

  get lastShed(): LastShed | undefined {
    return this.#lastShed
  }

  /** When a connection or a request last came, or a request ended. */
  get activeAt(): number {
    return this.#activeAt
  }

  /** From now on every HTTP/1 answer that begins is the last one of its connection, until the door opens. */
  lastAnswers(): void {
    this.#leaving = true
    for (const connection of this.connections) {
      for (const response of connection.unanswered()) this.#makeLast(response.req, response)
    }
  }

  #makeLast(request: IncomingMessage, response: ServerResponse): void {
    if (request.httpVersionMajor >= 2) return
    const connection = Connection.of(request.socket, this.#onHead)
    makeLast(
      request,
      response,
      () => connection?.hasLater(response) !== true,
      () => {
        if (connection !== undefined) connection.closing = true
      },
    )
  }

  /** Sheds everybody who waits and everybody who comes, exempt requests aside. */
  shedEverybody(): void {
    if (this.#open) return
    this.#answersNow = true
    this.#guarded(() => this.#gate.close())
    this.#heldAnswers.end()
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
    for (const undo of this.#undo) undo()
  }

  #startEverybody(): void {
    this.#heldAnswers.end()
    for (const connection of [...this.#linedConnections]) {
      const line = connection.waiting === undefined ? connection.behind : [connection.waiting, ...connection.behind]
      if (connection.waiting !== undefined) this.#abandon(connection.waiting)
      connection.waiting = undefined
      connection.behind = []
      for (const exchange of line) this.#handOnLater(exchange)
      connection.resumeReading()
    }
    this.#linedConnections.clear()
    for (const exchange of this.#lateWaiters) {
      this.#abandon(exchange)
      this.#handOnLater(exchange)
    }
    this.#lateWaiters.clear()
    for (const exchange of this.#heldUploads) {
      this.#abandon(exchange)
      exchange.resume!()
    }
    this.#heldUploads.clear()
  }

  // Interception ------------------------------------------------------------------------------------------------

  /**
   * `emit` rather than a listener: frameworks replace and reorder listeners (socket.io takes all of 'request' off and
   * calls them itself), and a listener of ours would be counted, moved or skipped.
   */
  #interceptEmit(own: Emit | undefined): void {
    const server = this.#server
    const emit = this.#emit
    const intercepting = (event: string, ...args: unknown[]): boolean => {
      switch (event) {
        case 'request':
        case 'checkContinue':
        case 'checkExpectation':
          return this.#onRequestEvent(event, args)
        case 'connection':
        case 'secureConnection': {
          const emitted = emit().call(server, event, ...args)
          this.#onConnection(args[0] as HttpSocket | undefined)
          return emitted
        }
        case 'timeout':
          this.#onTimeout(args[0] as HttpSocket | undefined)
          return emit().call(server, event, ...args)
        case 'upgrade':
        case 'connect':
          this.#onUpgrade(args[1] as Duplex | undefined)
          return emit().call(server, event, ...args)
        default:
          return emit().call(server, event, ...args)
      }
    }
    server.emit = intercepting as Server['emit']
    this.#undo.push(() => {
      // Somebody wrapped it after us: stay in place, our part passes everything on once the door is open.
      if (server.emit !== intercepting) return
      if (own !== undefined) server.emit = own as Server['emit']
      else delete (server as Partial<Server>).emit
    })
  }

  /** close() destroys idle connections; one whose request waits here looks idle to Node and must not be cut. */
  #interceptIdleClosing(): void {
    const server = this.#server
    const closeIdle = server.closeIdleConnections as Server['closeIdleConnections'] | undefined
    if (closeIdle === undefined) return // HTTP/2 has no idle connections of this kind
    const hadOwn = Object.hasOwn(server, 'closeIdleConnections')
    const intercepting = (): void => {
      sparing(this.#linedConnections, () => closeIdle.call(server))
    }
    server.closeIdleConnections = intercepting
    this.#undo.push(() => {
      if (server.closeIdleConnections !== intercepting) return
      if (hadOwn) server.closeIdleConnections = closeIdle
      else delete (server as Partial<Server>).closeIdleConnections
    })
  }

  #onConnection(socket: HttpSocket | undefined): void {
    // Apps emit these events themselves, with whatever they have.
    if (this.#open || typeof socket?.on !== 'function' || Connection.of(socket, this.#onHead) !== undefined) return
    try {
      const connection = Connection.attach(socket, this.#onHead, this.#refuse)
      if (connection === undefined) return
      this.#activeAt = now()
      // Of no interest while nobody is turned away; and which turn it is costs a good part of a connection.
      if (this.#gate.queued > 0) this.#turningAway.spent(this.#activeAt, loopTurn())
      this.connections.add(connection)
      socket.on('close', () => this.#onDisconnect(connection))
      answerAfterEnd(connection, this.#server)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Node closes a connection on which nothing moves, though a handler may be at work. */
  #onTimeout(socket: HttpSocket | undefined): void {
    const connection = typeof socket === 'object' ? Connection.of(socket, this.#onHead) : undefined
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
    const connection = Connection.of(socket as HttpSocket, this.#onHead)
    if (connection !== undefined) this.connections.delete(connection)
  }

  #onDisconnect(connection: Connection): void {
    this.connections.delete(connection)
    const { waiting, overlapping } = connection
    connection.waiting = undefined
    connection.owed = undefined
    connection.behind = []
    this.#linedConnections.delete(connection)
    if (waiting !== undefined) this.#abandon(waiting)
    if (overlapping !== undefined) for (const exchange of [...overlapping]) this.#onGone(exchange)
  }

  // A request arrives ---------------------------------------------------------------------------------------------

  /** A head was parsed. Answers what Node's parser expects: 0, or 2 for an upgrade. */
  readonly #onHead = (connection: Connection, request: ParsedRequest, keepAlive: boolean): number => {
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
      if (connection.behind.push(exchange) >= MOST_BEHIND) connection.pauseReading()
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
  readonly #refuse = (
    connection: Connection,
    rawHeaders: readonly string[],
    url: string,
    keepAlive: boolean,
  ): boolean => {
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
      const { bodyBytes, expects, namesHost, prefersHtml } = describeHead(rawHeaders)
      if (bodyBytes > 0 || expects || !namesHost) return false
      if (kind !== undefined) {
        this.#kinds.came(kind, nowMs)
        this.#gate.refused(nowMs, kind, client)
      }
      this.#activeAt = nowMs
      this.#pressure.offered(nowMs)
      this.#countShed(reason, nowMs)
      this.#write(connection, { html: prefersHtml, head: false, keepAlive: keepAlive && !this.#leaving }, nowMs, true)
      return true
    } catch (error) {
      this.#fail(error)
      return false
    }
  }

  /** Asks the gate. Sees to it that a request that does not start waits, or is answered. */
  #mayStart(connection: Connection, exchange: Exchange): boolean {
    try {
      const decision = this.#offer(exchange, exchange.arrivedAt)
      if (decision === 'wait') this.#wait(connection, exchange)
      else if (decision === 'start') connection.stopIdleTimeout(this.#server)
      else this.#shed(exchange, decision)
      return decision === 'start'
    } catch (error) {
      this.#fail(error)
      return true
    }
  }

  /** Hands a request on to Node. Exceptions of the app's handler pass through here exactly as they do without us. */
  #handOn(connection: Connection, exchange: Exchange, later = false): number {
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
  #noteOverlap(connection: Connection | undefined, exchange: Exchange): void {
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
    if (dryRun && this.#refusedByNode(exchange, describeHead(exchange.request.rawHeaders))) {
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
        exchange.ghost = true
        this.#pressure.waited()
      } else this.#countShed(decision, nowMs)
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

  #wait(connection: Connection, exchange: Exchange): void {
    connection.keepContext()
    connection.stopEveryIdleTimeout(this.#server)
    connection.waiting = exchange
    this.#linedConnections.add(connection)
  }

  /** Node hands a request to the app. */
  #onRequestEvent(event: string, args: unknown[]): boolean {
    const request = args[0] as IncomingMessage
    const response = args[1] as AskedResponse
    const exchange = this.#handingOn
    const handedOn = exchange !== undefined && exchange.request === request
    if (!handedOn && !cameOverConnection(request, response)) return this.#emit().call(this.#server, event, ...args)
    if (this.#leaving) this.#makeLast(request, response)
    if (handedOn) {
      this.#handingOn = undefined
      exchange.response = response
      response[ASKED] = true
      if (exchange.holdsPermit || exchange.ungated) {
        response.on('close', () => this.#onGone(exchange))
        return this.#enter(exchange, event, request, response)
      }
      this.#answerThroughNode(exchange, response)
      return true
    }
    // The app emits some a second time itself: a 'checkContinue' listener that says yes emits 'request'.
    if (this.#open || response[ASKED]) return this.#emit().call(this.#server, event, ...args)
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
      this.#noteOverlap(Connection.of(request.socket, this.#onHead), exchange)
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
      budget = deadlines.open(exchange, request, response, () => this.#answeredLate(exchange))
    } catch (error) {
      this.#fail(error)
      return this.#enterUnhurried(exchange, event, request, response)
    }
    return deadlines.run(budget, () => this.#enterUnhurried(exchange, event, request, response))
  }

  /** With its timeline when somebody wants to know. */
  #enterUnhurried(exchange: Exchange, event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const emit = this.#emit()
    const tells = this.#tellsTiming(request)
    let returned = false
    try {
      const handled =
        !tells && !requestsAreObserved()
          ? emit.call(this.#server, event, request, response)
          : observed(exchange, request, response, tells, () => emit.call(this.#server, event, request, response))
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
    else if (exchange.again && this.#heldUploads.delete(exchange)) {
      this.#abandon(exchange)
      // Its handler may still wait for the end; without a permit it gets that only when it has answered.
      if (exchange.response!.writableEnded && !exchange.answeredLate) exchange.resume!()
      else exchange.request.destroy()
    } else if (exchange.abandoned) return
    else if (handlerHasEnded(exchange, connection, pipelined))
      this.#ended(exchange, exchange.response?.headersSent === true, nowMs)
    else if (onlyServedItsClient(exchange)) this.#ended(exchange, false, nowMs)
    else this.#abandonWork(exchange, times)
  }

  /** It was told that its deadline has passed. */
  #answeredLate(exchange: Exchange): void {
    exchange.answeredLate = true
    if (exchange.resumedAs !== undefined) exchange.resumedAs.answeredLate = true
    this.#abandonWork(exchange, exchange.times)
  }

  /** Nobody waits for its answer any more, but its handler works on. */
  #abandonWork(exchange: Exchange, scope: Scope | undefined): void {
    const working = exchange.resumedAs ?? exchange
    if (working.abandoned || (!working.ghost && !this.#permits.has(working))) return
    this.#guarded(() => this.#permits.abandon(working, now(), scope, () => this.#ended(working, false)))
  }

  #connectionOf({ connection, request }: Exchange): Connection | undefined {
    // The socket of an HTTP/2 client that has gone is not to be asked anything.
    if (connection !== undefined || request.httpVersionMajor >= 2 || request.socket == null) return connection
    return Connection.of(request.socket, this.#onHead)
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
    if (exchange.ghost) {
      this.#startGhost(exchange)
      return
    }
    if (exchange.connection?.socket.destroyed) {
      // Its client has gone, and the news is still to come.
      this.#leaveWaiting(exchange)
      this.#gate.drop(now(), 0, exchange)
      return
    }
    this.#permit(exchange, now())
    if (this.#heldUploads.delete(exchange)) {
      exchange.resume!()
      return
    }
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

  /** In a dry run the gate starts a stand-in for a request that runs already, or has ended. */
  #startGhost(exchange: Exchange): void {
    this.#permit(exchange, now())
    if (exchange.tookMs >= 0) this.#endGhost(exchange)
  }

  /** It holds its permit for as long as the handler took: had it waited, that would have begun only then. */
  #endGhost(exchange: Exchange): void {
    const leftMs = exchange.startedAt + exchange.tookMs - now()
    const end = (): void => {
      if (exchange.abandoned) this.#permits.drop(exchange, now())
      else this.#permits.answered(exchange, now())
    }
    setTimeout(() => this.#guarded(end), Math.max(0, leftMs)).unref()
  }

  #shedWaited(exchange: Exchange, reason: ShedReason): void {
    if (exchange.ghost) {
      this.#countShed(reason, now())
      return
    }
    const isUpload = this.#heldUploads.delete(exchange)
    if (!isUpload) this.#leaveWaiting(exchange)
    try {
      if (isUpload) this.#shedUpload(exchange, reason)
      else this.#shed(exchange, reason)
    } catch (error) {
      this.#fail(error)
      if (isUpload) exchange.resume!()
      else this.#handOnLater(exchange)
    }
  }

  #leaveWaiting(exchange: Exchange): void {
    const { connection } = exchange
    if (connection === undefined) {
      this.#lateWaiters.delete(exchange)
      return
    }
    connection.waiting = undefined
    if (connection.behind.length === 0) this.#linedConnections.delete(connection)
    // Not now: the gate is in the middle of something, and a thousand lines moving at once would be as deep a stack.
    else if (this.#movedLines.push(connection) === 1) setImmediate(this.#moveLines)
  }

  /** Pipelined requests whose predecessor has started or was shed ask at the gate. */
  readonly #moveLines = (): void => {
    const moved = this.#movedLines
    this.#movedLines = []
    for (const connection of moved) {
      while (connection.waiting === undefined && connection.owed === undefined && connection.behind.length > 0) {
        const exchange = connection.behind.shift()!
        exchange.arrivedAt = now()
        if (connection.closing) continue
        if (this.#open || this.#mayStart(connection, exchange)) this.#handOnLater(exchange)
      }
      if (!connection.hasLine) this.#linedConnections.delete(connection)
      if (connection.behind.length === 0) connection.resumeReading()
    }
  }

  /** Answers everybody in line, in order, because something came that can not wait. */
  #shedLine(connection: Connection): void {
    this.#answerOwed(connection)
    const { waiting, behind } = connection
    const line = waiting === undefined ? behind : [waiting, ...behind]
    connection.waiting = undefined
    connection.behind = []
    this.#linedConnections.delete(connection)
    if (waiting !== undefined) this.#abandon(waiting)
    const before = this.#answersNow
    this.#answersNow = true
    try {
      for (const exchange of line) if (!connection.closing) this.#shed(exchange, 'upgrade')
      connection.resumeReading()
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#answersNow = before
    }
  }

  // Leaving -------------------------------------------------------------------------------------------------------

  /** Its handler has ended. `answered`: with an answer of its own. */
  #ended(exchange: Exchange, answered: boolean, nowMs: number = now()): void {
    exchange.budget?.settle()
    if (exchange.ghost && exchange.tookMs < 0) {
      exchange.tookMs = nowMs - exchange.arrivedAt
      if (exchange.holdsPermit) this.#endGhost(exchange)
    } else if (!exchange.ghost) {
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

  #noteAnswered({ request, response, kind, url, startedAt }: Exchange, nowMs: number): void {
    const route = routeOf(request)
    if (response?.statusCode === NOT_FOUND) this.#kinds.notFound(kind, url)
    else this.#kinds.answered(kind, url, nowMs, this.#gate.standing, route)
    if (route !== undefined) this.routeCosts.spent(route, nowMs - startedAt)
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

  /**
   * What a handler does with a body comes after its last byte, and that needs a permit like any other work: the end of
   * the body is kept until there is one. Otherwise everybody who uploads slowly would get past the limit.
   */
  #askAgainAfterUpload(upload: Exchange): void {
    const { request, response, connection, keepAlive, url } = upload
    if (this.#policy.dryRun || response === undefined) return
    keepEnd(request, release => {
      if (this.#open || response.headersSent || response.destroyed) return release()
      const exchange = new Exchange(request, connection, keepAlive, now(), url)
      exchange.response = response
      exchange.resume = release
      exchange.budget = upload.budget
      upload.resumedAs = exchange
      this.#askAgain(exchange)
    })
  }

  #askAgain(exchange: Exchange): void {
    let decision: Decision = 'start'
    try {
      exchange.response!.on('close', () => this.#onGone(exchange))
      this.#noteOverlap(this.#connectionOf(exchange), exchange)
      decision = this.#ask(exchange, exchange.arrivedAt)
      if (decision === 'wait') this.#heldUploads.add(exchange)
      else if (decision === 'start') this.#permit(exchange, exchange.arrivedAt)
      else this.#shedUpload(exchange, decision)
    } catch (error) {
      this.#fail(error)
      decision = 'start'
    }
    if (decision === 'start') exchange.resume!()
  }

  /** There is no room for what its handler would do with the body: it is told as if its client had gone. */
  #shedUpload(exchange: Exchange, reason: ShedReason): void {
    const { request } = exchange
    const response = exchange.response!
    this.#countShed(reason, now())
    if (request.httpVersionMajor < 2) response.shouldKeepAlive = false
    const bytes = this.#answerThroughNode(exchange, response)
    mute(response)
    response.on('close', () => request.destroy())
    this.#publishShed(exchange, reason, bytes)
  }

  // Shedding ------------------------------------------------------------------------------------------------------

  #shed(exchange: Exchange, reason: ShedReason): void {
    const needs = describeHead(exchange.request.rawHeaders)
    // Node's 400 is no shed: it is counted as where there is room.
    const isShed = !this.#refusedByNode(exchange, needs)
    if (isShed) this.#countShed(reason, now())
    else this.counts.admitted++
    const bytes = this.#answerShed(exchange, needs)
    if (isShed) this.#publishShed(exchange, reason, bytes)
  }

  /** Returns the bytes of the body. */
  #answerShed(exchange: Exchange, needs: HeadNeeds): number {
    const { connection, request, response } = exchange
    if (connection === undefined) return response === undefined ? 0 : this.#answerThroughNode(exchange, response)
    const { socket } = connection
    if (socket.destroyed || !socket.writable) return 0
    const head = request.method === 'HEAD'
    const html = needs.prefersHtml
    const last = this.#leaving && connection.behind.length === 0
    const keepAlive = exchange.keepAlive && !last && keepsConnection(needs, request)
    // Another answer is still being written on this connection, or the client does not read: Node keeps the order.
    // And what it refuses is no shed.
    if (socket._httpMessage != null || socket.writableNeedDrain || this.#refusedByNode(exchange, needs)) {
      this.#handingOn = exchange
      this.#handOnLater(exchange)
      this.#handingOn = undefined
      if (!keepAlive) connection.closing = true
      // Node's refusal has no body, and did not come back to us.
      return exchange.response === undefined ? 0 : this.#answers.bodyBytes({ html, head })
    }
    connection.forget(request)
    this.#write(connection, { html, head, keepAlive }, now(), request.complete || needs.bodyBytes === 0)
    return this.#answers.bodyBytes({ html, head })
  }

  #publishShed({ request, arrivedAt }: Exchange, reason: ShedReason, bytes: number): void {
    if (!sheds.hasSubscribers) return
    const atMs = now()
    sheds.publish({ record: { atMs, reason, waitedMs: atMs - arrivedAt, bytes }, server: this.#server, request })
  }

  /** Whether Node answers it with a 400 before anybody sees it: it names no host (RFC 9112 section 3.2). */
  #refusedByNode({ connection, request }: Exchange, { namesHost }: HeadNeeds): boolean {
    const { requireHostHeader } = this.#server as { requireHostHeader?: boolean }
    return connection !== undefined && !namesHost && request.httpVersion === '1.1' && requireHostHeader !== false
  }

  /** Writes a ready answer. */
  #write(connection: Connection, choice: AnswerChoice, nowMs: number, complete: boolean): void {
    this.#turningAway.spent(nowMs, loopTurn())
    const mayWait = choice.keepAlive && !this.#open && !this.#answersNow
    if (mayWait && !this.#turningAway.hasTime(nowMs)) this.#owe(connection, choice, nowMs)
    else this.#writeNow(connection, choice, nowMs, complete)
  }

  /** A client that closes after its answer is gone however late it gets it; one that stays does not ask again before. */
  #owe(connection: Connection, choice: AnswerChoice, nowMs: number): void {
    this.#answerOwed(connection)
    connection.owed = choice
    this.#linedConnections.add(connection)
    if ((connection.socket.timeout ?? 0) < 2 * MOST_HELD_MS) connection.stopEveryIdleTimeout(this.#server)
    this.#heldAnswers.hold(connection, nowMs)
  }

  #answerOwed(connection: Connection): void {
    const { owed, socket, behind } = connection
    if (owed === undefined) return
    connection.owed = undefined
    if (behind.length === 0) this.#linedConnections.delete(connection)
    else if (this.#movedLines.push(connection) === 1) setImmediate(this.#moveLines)
    if (socket.destroyed || !socket.writable) return
    const last = this.#leaving && behind.length === 0
    this.#writeNow(connection, last ? { ...owed, keepAlive: false } : owed, now(), false)
  }

  #writeNow(connection: Connection, choice: AnswerChoice, nowMs: number, complete: boolean): void {
    const { socket } = connection
    const message = this.#answers.message(choice, httpDate(nowMs), this.#server.keepAliveTimeout)
    if (choice.keepAlive) connection.startIdleTimeout(this.#server)
    socket.write(message, 'latin1')
    if (!choice.keepAlive) endConnection(socket, complete)
  }

  #countShed(reason: ShedReason, nowMs: number): void {
    this.counts.shed[reason]++
    this.#pressure.shed()
    this.#lastShed ??= { reason, atMs: nowMs, inflight: 0, outstaying: 0, abandoned: 0, limit: 0, queued: 0 }
    const last = this.#lastShed
    last.reason = reason
    last.atMs = nowMs
    last.inflight = this.#gate.inflight
    last.outstaying = this.outstaying
    last.abandoned = this.abandoned
    last.limit = this.#gate.limit
    last.queued = this.#gate.queued
  }

  /** The slower way, through Node's own response. Returns the bytes of the body. */
  #answerThroughNode(exchange: Exchange, response: ServerResponse): number {
    const { request } = exchange
    const needs = describeHead(request.rawHeaders)
    const { headers, body } = this.#answers.parts(needs.prefersHtml)
    const keeps = response.shouldKeepAlive && keepsConnection(needs, request)
    if (!keeps && request.httpVersionMajor < 2) endAfter(request, response)
    response.writeHead(503, headers)
    response.end(body)
    return this.#answers.bodyBytes({ html: needs.prefersHtml, head: request.method === 'HEAD' })
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

/**
 * Whether a handler has ended whose response is closed: it has ended the response, thrown, or closed the connection. A
 * client that leaves says so (the end of its stream, an error), and a timeout of Node's is not the handler's doing either.
 */
function handlerHasEnded(
  { request, response, threw }: Exchange,
  connection: Connection | undefined,
  pipelined: boolean,
): boolean {
  if (response === undefined || response.writableEnded || threw) return true
  // A response whose turn had not come yet is destroyed by Node when the connection closes; others by the app alone.
  if (!pipelined && response.errored != null) return true
  if (request.httpVersionMajor >= 2) return streamHasEnded(response)
  if (connection === undefined) return false
  const { socket, timedOut } = connection
  // An error of the connection itself names the system call; one that the app destroyed it with does not.
  const lost = (socket.errored as NodeJS.ErrnoException | null)?.syscall !== undefined
  return !timedOut && !socket.readableEnded && !lost
}

/** HTTP/2 handlers may answer on the stream, past the response. A client that cancels gives a code. */
function streamHasEnded(response: ServerResponse & { stream?: { readonly rstCode?: number } }): boolean {
  return response.headersSent && response.stream?.rstCode === 0
}

/**
 * What goes on in its handler is for a client that has gone, and ends with it: a stream that nobody ends when its reader
 * has left, or the reading of a body that will not come.
 */
function onlyServedItsClient({ request, response }: Exchange): boolean {
  return response?.headersSent === true || waitsForBody(request)
}

/** Who makes paths up gets it for any. */
const NOT_FOUND = 404

type Decision = ReturnType<Gate<Exchange>['offer']>
type Emit = (this: Server, event: string, ...args: unknown[]) => boolean

/** Marks responses whose request has been at a gate; shared by every installed copy of meltproof. */
const ASKED = Symbol.for('meltproof.asked')
type AskedResponse = ServerResponse & { [ASKED]?: true }

/** Node marks a request that asks to change the protocol. */
type ParsedRequest = IncomingMessage & { upgrade?: boolean }

/** A client that still has much to send, or waits for leave to send it, can not reuse the connection. */
function keepsConnection(needs: HeadNeeds, request: IncomingMessage): boolean {
  if (needs.expects) return false
  return request.complete || needs.bodyBytes <= DROPPABLE_BODY
}
