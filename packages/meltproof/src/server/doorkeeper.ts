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
import { KINDS, kindOf } from '../admission/fair-shares.ts'
import { GATE_TUNING, Gate, type GateTuning, type ShedReason } from '../admission/gate.ts'
import type { LimitLaw } from '../admission/limit.ts'
import { Outstayers } from '../admission/outstayers.ts'
import { PressureMeter } from '../admission/pressure.ts'
import { requests, sheds } from '../channels.ts'
import { httpDate, now } from '../clock.ts'
import type { Budget } from '../deadline/budget.ts'
import { routeOf } from '../route.ts'
import { loopTurn } from '../signals/loop-turn.ts'
import { latenessNow } from '../timing/keeper.ts'
import { Connection, type HttpSocket, sparing } from './connection.ts'
import { Exchange } from './exchange.ts'
import type { LastShed } from './explanation.ts'
import { flows, sendsEvents, waitsForBody } from './flows.ts'
import { InService } from './in-service.ts'
import { makeLast } from './last-answer.ts'
import { keepEnd } from './kept-end.ts'
import { observed, publishRecord } from './observed.ts'
import { OpenConnections } from './open-connections.ts'
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
 * Permits that are not needed are looked for this often while somebody waits, ms, or less often where looking would take
 * a larger share of the time.
 */
const LOOK_MS = 5
const LOOK_SHARE = 0.02
const LOOK_MAX_MS = 10
/** What a client still uploads after a shed that closes is read and dropped for so long, ms. */
const LINGER_MS = 2000
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
    shed: { standing: 0, stale: 0, late: 0, full: 0, closing: 0, memory: 0, upgrade: 0 },
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
  readonly #pressure = new PressureMeter()
  readonly #inService = new InService()
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
  #lookAgainAt = 0
  #lookTimer: NodeJS.Timeout | undefined
  /** Absent where everybody counts. */
  readonly #outstayers: Outstayers<Exchange> | undefined
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
    const own = Object.hasOwn(server, 'emit') ? (server.emit as Emit) : undefined
    this.#emit = () => own ?? (Object.getPrototypeOf(server).emit as Emit)
    this.#answers = answers
    this.#hooks = hooks
    this.#outstayers = policy.loopBusyMs === undefined ? undefined : new Outstayers(tuning)
    const turnEnded = (): void => this.#wake('turnEnded')
    const timeCame = (): void => this.#wake('timeCame')
    const { level } = policy
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
        kind: exchange => kindOf(exchange.url),
      },
      tuning,
      policy.queue,
    )
    this.#interceptEmit(own)
    this.#interceptIdleClosing()
  }

  get inflight(): number {
    if (!this.#open) this.#releaseFlowing(now())
    return this.#gate.inflight
  }

  /** How many go on without a permit because they take far longer than others of their kind. */
  get outstaying(): number {
    return this.#outstayers?.count ?? 0
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
    // An app may emit requests whose socket is none.
    if (request.httpVersionMajor >= 2 || typeof request.socket?.on !== 'function') return
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
    try {
      this.#gate.close()
    } catch (error) {
      this.#fail(error)
    }
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
          return this.#onRequestEvent(event, args[0] as IncomingMessage, args[1] as ServerResponse)
        case 'connection':
        case 'secureConnection': {
          const emitted = emit().call(server, event, ...args)
          this.#onConnection(args[0] as HttpSocket)
          return emitted
        }
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

  #onConnection(socket: HttpSocket): void {
    if (this.#open || Connection.of(socket, this.#onHead) !== undefined) return
    try {
      const connection = Connection.attach(socket, this.#onHead, this.#refuse)
      if (connection === undefined) return
      this.#activeAt = now()
      this.connections.add(connection)
      socket.on('close', () => this.#onDisconnect(connection))
    } catch (error) {
      this.#fail(error)
    }
  }

  /** The connection becomes somebody else's. */
  #onUpgrade(socket: Duplex | undefined): void {
    // Apps emit these events themselves, with whatever they have.
    if (typeof socket?.once !== 'function' || typeof socket.destroy !== 'function') return
    const connection = Connection.of(socket as HttpSocket, this.#onHead)
    if (connection !== undefined) this.connections.delete(connection)
    this.upgraded.add(socket)
    socket.once('close', () => this.upgraded.delete(socket))
  }

  #onDisconnect(connection: Connection): void {
    this.connections.delete(connection)
    clearTimeout(connection.lingering)
    const { waiting, overlapping } = connection
    connection.waiting = undefined
    connection.behind = []
    this.#linedConnections.delete(connection)
    if (waiting !== undefined) this.#abandon(waiting)
    if (overlapping !== undefined) for (const exchange of overlapping) this.#onGone(exchange)
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
      if (request.upgrade) this.#releaseBefore(connection)
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
    // Whoever listens to sheds gets their requests, so these are made then.
    if (this.#open || !connection.quiet || sheds.hasSubscribers) return false
    const { dryRun, exemptRequest, exemptUrl, memoryShort } = this.#policy
    if (dryRun || exemptRequest !== undefined || exemptUrl?.(url)) return false
    try {
      const nowMs = now()
      // Kinds matter, and cost, only while somebody waits.
      const kind = this.#gate.queued > 0 ? kindOf(url) : undefined
      const reason = memoryShort?.() ? 'memory' : this.#gate.refuses(nowMs, kind)
      if (reason === undefined) return false
      const { bodyBytes, expects, namesHost, prefersHtml } = describeHead(rawHeaders)
      if (bodyBytes > 0 || expects || !namesHost) return false
      if (kind !== undefined) this.#gate.refused(nowMs, kind)
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
    this.#handingOn = exchange
    try {
      return later ? connection.handOnLater(exchange) : connection.handOn(request, keepAlive)
    } finally {
      this.#handingOn = undefined
      // If Node answered by itself (no Host header, a 417), no response came by.
      if (exchange.response === undefined) {
        connection.overlapping?.delete(exchange)
        this.#ended(exchange, now())
      } else if (exchange.response.headersSent && this.#gate.queued > 0 && sendsEvents(exchange.response)) {
        // With thousands of event sources that connect at once, each look for flows is one too late.
        this.#release(exchange, now())
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
    if (requests.hasSubscribers && (decision === 'start' || decision === 'wait')) {
      exchange.lateMs = Math.min(latenessNow(nowMs), nowMs - (exchange.connection?.answeredAtMs ?? -Infinity))
    }
    return decision
  }

  #ask(exchange: Exchange, nowMs: number): Decision {
    if (this.#gate.full) this.#makeRoom(nowMs)
    const decision = this.#gate.offer(exchange, nowMs)
    if (decision === 'wait') this.#lookWhileWaiting()
    return decision
  }

  #isExempt(request: IncomingMessage): boolean {
    const { exemptUrl, exemptRequest } = this.#policy
    return exemptUrl?.(request.url ?? '') === true || exemptRequest?.(request) === true
  }

  #permit(exchange: Exchange, nowMs: number): void {
    exchange.startedAt = nowMs
    exchange.holdsPermit = true
    this.#inService.add(exchange)
    this.#outstayers?.started(exchange, stayKind(exchange))
    // The end of an upload is no request.
    if (exchange.resume === undefined) this.counts.admitted++
  }

  #wait(connection: Connection, exchange: Exchange): void {
    connection.keepContext()
    connection.stopEveryIdleTimeout(this.#server)
    connection.waiting = exchange
    this.#linedConnections.add(connection)
  }

  /** Node hands a request to the app. */
  #onRequestEvent(event: string, request: IncomingMessage, response: AskedResponse): boolean {
    if (this.#leaving) this.#makeLast(request, response)
    const exchange = this.#handingOn
    if (exchange !== undefined && exchange.request === request) {
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
    if (this.#open || response[ASKED]) return this.#emit().call(this.#server, event, request, response)
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
    let budget: Budget | undefined
    try {
      budget = deadlines.open(exchange.arrivedAt, request, response)
      if (budget === undefined) return true
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
    if (!tells && !requests.hasSubscribers) return emit.call(this.#server, event, request, response)
    return observed(exchange, request, response, tells, () => emit.call(this.#server, event, request, response))
  }

  #tellsTiming(request: IncomingMessage): boolean {
    try {
      return this.#hooks.tellsTiming?.(request) === true
    } catch {
      return false // the session of an HTTP/2 client that has gone has no address any more
    }
  }

  #onGone(exchange: Exchange): void {
    const nowMs = now()
    this.#activeAt = nowMs
    const { timeline } = exchange
    this.#connectionOf(exchange)?.overlapping?.delete(exchange)
    if (timeline !== undefined) publishRecord(this.#server, exchange, timeline, nowMs)
    if (this.#outstayers?.ended(exchange) && exchange.response?.headersSent)
      this.#noteCost(exchange, nowMs - exchange.startedAt)
    if (exchange.holdsPermit || exchange.ghost) this.#ended(exchange, nowMs)
    else if (this.#lateWaiters.delete(exchange)) this.#abandon(exchange)
    else if (this.#heldUploads.delete(exchange)) {
      this.#abandon(exchange)
      exchange.resume!() // its handler may still wait for the end
    }
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
      if (this.#gate.queued > 0) this.#makeRoom(nowMs)
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
    setTimeout(() => this.#release(exchange, now()), Math.max(0, leftMs)).unref()
  }

  #shedWaited(exchange: Exchange, reason: ShedReason): void {
    if (exchange.ghost) {
      this.#countShed(reason, now())
      return
    }
    if (this.#heldUploads.delete(exchange)) {
      this.#resumeUnasked(exchange)
      return
    }
    this.#leaveWaiting(exchange)
    try {
      this.#shed(exchange, reason)
    } catch (error) {
      this.#fail(error)
      this.#handOnLater(exchange)
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
      while (connection.waiting === undefined && connection.behind.length > 0) {
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
    const { waiting, behind } = connection
    const line = waiting === undefined ? behind : [waiting, ...behind]
    connection.waiting = undefined
    connection.behind = []
    this.#linedConnections.delete(connection)
    if (waiting !== undefined) this.#abandon(waiting)
    try {
      for (const exchange of line) if (!connection.closing) this.#shed(exchange, 'upgrade')
      connection.resumeReading()
    } catch (error) {
      this.#fail(error)
    }
  }

  // Leaving -------------------------------------------------------------------------------------------------------

  /** Its response is closed. */
  #ended(exchange: Exchange, nowMs: number): void {
    if (!exchange.ghost) this.#release(exchange, nowMs)
    else if (exchange.tookMs < 0) {
      exchange.tookMs = nowMs - exchange.arrivedAt
      if (exchange.holdsPermit) this.#endGhost(exchange)
    }
  }

  #release(exchange: Exchange, nowMs: number, answered = exchange.response?.headersSent ?? true): void {
    if (!exchange.holdsPermit) return
    exchange.holdsPermit = false
    this.#inService.delete(exchange)
    this.#outstayers?.left(exchange, answered)
    try {
      const serviceMs = nowMs - exchange.startedAt
      this.#gate.release(nowMs, serviceMs, answered, exchange)
      if (answered) this.#noteCost(exchange, serviceMs)
    } catch (error) {
      this.#fail(error)
    }
  }

  #noteCost({ request }: Exchange, serviceMs: number): void {
    const route = routeOf(request)
    if (route !== undefined) this.routeCosts.spent(route, serviceMs)
  }

  /**
   * The connection becomes somebody else's, and with it the news that its client has gone, which may never come: Node
   * leaves a socket unread for ever that a body had stopped in the packet of the upgrade. Requests that were in service
   * on it must not hold their permits that long.
   */
  #releaseBefore(connection: Connection): void {
    const nowMs = now()
    for (const exchange of this.#inService.find(each => each.connection === connection)) {
      this.#release(exchange, nowMs, false)
    }
    for (const exchange of this.#outstayers?.going ?? []) {
      if (exchange.connection === connection) this.#outstayers?.ended(exchange)
    }
  }

  /** Its client has gone, or the door is open. */
  #abandon(exchange: Exchange): void {
    try {
      this.#gate.abandon(exchange, now())
    } catch (error) {
      this.#fail(error)
    }
  }

  /**
   * Permits of what merely flows (flows.ts) or outstays (outstayers.ts) are for those who wait; looked for only while
   * somebody does.
   */
  #makeRoom(nowMs: number): void {
    this.#releaseFlowing(nowMs)
    this.#releaseOutstayers(nowMs)
  }

  #releaseFlowing(nowMs: number): void {
    if (nowMs < this.#lookAgainAt) return
    for (const exchange of this.#inService.find(each => flows(each, nowMs - each.startedAt))) {
      if (exchange.response?.headersSent !== true) this.#askAgainAfterUpload(exchange)
      this.#release(exchange, nowMs, true)
    }
    const tookMs = now() - nowMs
    this.#lookAgainAt = nowMs + Math.min(LOOK_MAX_MS, Math.max(1, tookMs / LOOK_SHARE))
  }

  #releaseOutstayers(nowMs: number): void {
    const { loopBusyMs } = this.#policy
    const outstayers = this.#outstayers
    if (loopBusyMs === undefined || outstayers?.look(nowMs, loopBusyMs()) !== true) return
    for (const exchange of this.#inService.find(isReal, each => outstayers.tooShort(each))) {
      // What its handler does with the body is still to come (flows.ts).
      if (waitsForBody(exchange.request)) outstayers.again(exchange, nowMs)
      if (!outstayers.has(exchange)) continue
      if (outstayers.full) return
      exchange.holdsPermit = false
      this.#inService.delete(exchange)
      outstayers.goesOn(exchange)
      this.#gate.goOn(nowMs, nowMs - exchange.startedAt, exchange)
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
  #askAgainAfterUpload({ request, response, connection, keepAlive, url }: Exchange): void {
    if (this.#policy.dryRun || response === undefined) return
    keepEnd(request, release => {
      if (this.#open || response.headersSent || response.destroyed) release()
      else this.#askAgain(new Exchange(request, connection, keepAlive, now(), url), response, release)
    })
  }

  #askAgain(exchange: Exchange, response: ServerResponse, resume: () => void): void {
    exchange.response = response
    exchange.resume = resume
    let decision: Decision = 'start'
    try {
      response.on('close', () => this.#onGone(exchange))
      this.#noteOverlap(this.#connectionOf(exchange), exchange)
      decision = this.#ask(exchange, exchange.arrivedAt)
      if (decision === 'wait') this.#heldUploads.add(exchange)
      else if (decision === 'start') this.#permit(exchange, exchange.arrivedAt)
    } catch (error) {
      this.#fail(error)
    }
    if (decision === 'start') resume()
    else if (decision !== 'wait') this.#resumeUnasked(exchange)
  }

  /** Its handler has begun: too late to turn it away. It counts as in service, so that fewer others get in. */
  #resumeUnasked(exchange: Exchange): void {
    const nowMs = now()
    try {
      this.#gate.enter(nowMs, exchange)
      this.#permit(exchange, nowMs)
    } catch (error) {
      this.#fail(error)
    }
    exchange.resume!()
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
    // Without a host it is no request to shed but one to refuse, which is Node's.
    const nodes = socket._httpMessage != null || socket.writableNeedDrain || !needs.namesHost
    if (nodes || request.httpVersion !== '1.1') {
      this.#handingOn = exchange
      this.#handOnLater(exchange)
      this.#handingOn = undefined
      if (request.httpVersion === '1.1') connection.closing = !keepAlive
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

  /**
   * Writes a ready answer. One that closes: what is still to come of a body is read and dropped for a moment, because
   * closing a socket with unread data resets it, and the client would lose the answer.
   */
  #write(connection: Connection, choice: AnswerChoice, nowMs: number, complete: boolean): void {
    const { socket } = connection
    const message = this.#answers.message(choice, httpDate(nowMs), this.#server.keepAliveTimeout)
    if (choice.keepAlive) {
      connection.startIdleTimeout(this.#server)
      socket.write(message, 'latin1')
      return
    }
    connection.closing = true
    socket.end(message, 'latin1')
    if (complete) socket.destroySoon?.()
    else connection.lingering = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }

  #countShed(reason: ShedReason, nowMs: number): void {
    this.counts.shed[reason]++
    this.#pressure.shed()
    this.#lastShed ??= { reason, atMs: nowMs, inflight: 0, outstaying: 0, limit: 0, queued: 0 }
    const last = this.#lastShed
    last.reason = reason
    last.atMs = nowMs
    last.inflight = this.#gate.inflight
    last.outstaying = this.outstaying
    last.limit = this.#gate.limit
    last.queued = this.#gate.queued
  }

  /** The slower way, through Node's own response. Returns the bytes of the body. */
  #answerThroughNode(exchange: Exchange, response: ServerResponse): number {
    const needs = describeHead(exchange.request.rawHeaders)
    const { headers, body } = this.#answers.parts(needs.prefersHtml)
    if (!keepsConnection(needs, exchange.request) && exchange.request.httpVersionMajor < 2) {
      headers.connection = 'close'
    }
    response.writeHead(503, headers)
    response.end(body)
    return this.#answers.bodyBytes({ html: needs.prefersHtml, head: exchange.request.method === 'HEAD' })
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

/** Reading an order is another matter than placing one, though the path is the same. */
function stayKind({ request: { method = '' }, kind }: Exchange): number {
  return (kind + 37 * method.length + method.charCodeAt(0)) % KINDS
}

/** Not the stand-in of one that is over. */
const isReal = ({ tookMs }: Exchange): boolean => tookMs < 0

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
