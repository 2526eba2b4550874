/** Connections and requests at Node's parser, before a ServerResponse exists: keeps their order and asks the gate. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Decision } from '../admission/gate.ts'
import type { TurningAwayTime } from '../admission/turning-away.ts'
import { now } from '../clock.ts'
import { loopTurn } from '../signals/loop-turn.ts'
import type { BodySource } from '../signals/memory.ts'
import { Connection, type HeadHandler } from './connection/connection.ts'
import { type HttpSocket, readOn } from './connection/http-socket.ts'
import type { Lines } from './connection/lines.ts'
import { PacedBodies } from './connection/paced-bodies.ts'
import type { ServerGate } from './gate/server-gate.ts'
import type { Waiting } from './gate/waiting.ts'
import { LinkedList } from '../linked-list.ts'
import { Exchange } from './request/exchange.ts'
import { describeHead } from './request/request-head.ts'
import { makeLast } from './response/last-answer.ts'
import type { Shedding } from './shed/shedding.ts'

export interface ParserParts {
  readonly server: Server
  readonly gate: ServerGate
  readonly lines: Lines<Exchange>
  readonly shedding: Shedding
  readonly waiting: Waiting
  readonly turningAway: TurningAwayTime
  /** Absent where no body is to wait. */
  readonly bodySources: Set<BodySource> | undefined
  readonly decide: (exchange: Exchange, nowMs: number) => Decision
  readonly handOn: (connection: Connection<Exchange>, exchange: Exchange) => number
  readonly onClosed: (exchange: Exchange) => void
  /** Its connection speaks another protocol from now on. */
  readonly onTaken: (exchange: Exchange) => void
}

export class AtParser implements HeadHandler<Exchange> {
  readonly connections: LinkedList<Connection<Exchange>> = new LinkedList()
  /** Sockets that another protocol has since an 'upgrade' or 'connect'. */
  readonly upgraded: Set<Duplex> = new Set()
  readonly #parts: ParserParts
  readonly #bodies: PacedBodies | undefined

  constructor(parts: ParserParts) {
    this.#parts = parts
    const { bodySources } = parts
    this.#bodies = bodySources && new PacedBodies(this.connections, bodySources)
  }

  connectionOf({ connection, request }: Exchange): Connection<Exchange> | undefined {
    // The socket of an HTTP/2 client that has gone is not to be asked anything.
    if (connection !== undefined || request.httpVersionMajor >= 2 || request.socket == null) return connection
    return this.#at(request.socket)
  }

  /** meltproof steps aside: every body is read as it comes. */
  readBodies(): void {
    this.#bodies?.onRoom()
  }

  #at(socket: HttpSocket): Connection<Exchange> | undefined {
    return Connection.of(socket, this)
  }

  onConnection(socket: HttpSocket | undefined): void {
    const { gate, turningAway } = this.#parts
    if (gate.failOpen.isOpen || typeof socket?.on !== 'function' || this.#at(socket) !== undefined) return
    try {
      const connection = Connection.attach(socket, this)
      if (connection === undefined) return
      const nowMs = now()
      gate.activeAt = nowMs
      // Only needed while requests are shed; reading the turn costs a good part of a connection.
      if (gate.queued > 0) turningAway.spent(nowMs, loopTurn())
      this.connections.add(connection)
      this.#bodies?.began()
      socket.on('close', () => this.#onDisconnect(connection))
    } catch (error) {
      gate.failOpen.fail(error)
    }
  }

  /** Apps emit these events themselves, with any arguments. One that is destroyed already was closed by the app. */
  onCut(socket: HttpSocket | null | undefined): void {
    const connection = typeof socket === 'object' && socket !== null ? this.#at(socket) : undefined
    if (connection?.socket.destroyed === false) connection.cut = true
  }

  onCutAll(): void {
    for (const connection of this.connections) connection.cut = true
  }

  onUpgrade(socket: Duplex | undefined): void {
    if (typeof socket?.on !== 'function' || typeof socket.destroy !== 'function') return
    try {
      socket.on('close', () => this.upgraded.delete(socket))
      readOn(socket as HttpSocket)
    } catch {
      return // that is no socket
    }
    this.upgraded.add(socket)
    const connection = this.#at(socket as HttpSocket)
    if (connection !== undefined) this.connections.delete(connection)
  }

  #onDisconnect(connection: Connection<Exchange>): void {
    const { onClosed, shedding, waiting } = this.#parts
    const { overlapping } = connection
    this.connections.delete(connection)
    this.#bodies?.ended(connection)
    shedding.forget(connection)
    waiting.clientLeft(connection)
    if (overlapping !== undefined) for (const exchange of [...overlapping]) onClosed(exchange)
    // Node has not closed its response: the app has taken the connection from it.
    if (connection.current !== undefined) onClosed(connection.current)
  }

  makeLast(request: IncomingMessage, response: ServerResponse): void {
    if (request.httpVersionMajor >= 2) return
    const connection = this.#at(request.socket)
    makeLast(request, response, () => connection?.hasLater(response) !== true)
  }

  onHead(connection: Connection<Exchange>, request: ParsedRequest, keepAlive: boolean): number {
    const { gate, handOn, lines, server } = this.#parts
    if (connection.closing) {
      connection.forget(request)
      return 0
    }
    if (request.upgrade) return this.#onUpgradeHead(connection, request, keepAlive)
    // Node closes the connection of a client that speaks HTTP/2.
    if (request.method === 'PRI') connection.cut = true
    const exchange = new Exchange(request, connection, keepAlive, now())
    if (connection.hasLine) {
      // Pipelined behind one that waits: HTTP/1.1 answers in order.
      lines.join(connection, exchange)
      return 0
    }
    if (gate.failOpen.isOpen) {
      connection.stopIdleTimeout(server)
      return connection.handOn(request, keepAlive)
    }
    return this.mayStart(connection, exchange) ? handOn(connection, exchange) : 0
  }

  /** Node decides on an upgrade, at once; one that nobody listens for comes back as a plain request through `emit`. */
  #onUpgradeHead(connection: Connection<Exchange>, request: ParsedRequest, keepAlive: boolean): number {
    const { gate, onTaken, server, waiting } = this.#parts
    // It would overtake requests that wait, and their answers would get out of order.
    if (connection.hasLine) waiting.shedLine(connection)
    if (connection.closing) {
      connection.forget(request)
      return 0
    }
    connection.stopIdleTimeout(server)
    const answer = connection.handOn(request, keepAlive)
    // Still true when Node takes the connection from its parser: for a listener, or to close it.
    if (request.upgrade) {
      connection.cut = true
      gate.failOpen.guard(() => gate.permits.of(connection).forEach(onTaken))
    }
    return answer
  }

  /** The usual shed under a standing queue: one write, and no request is made. False: it is made, and comes to onHead. */
  refuse(connection: Connection<Exchange>, rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean {
    const { gate, shedding } = this.#parts
    if (gate.refusesNobody) return false
    if (gate.failOpen.isOpen || !connection.quiet) return false
    try {
      const nowMs = now()
      if (shedding.records?.wantsRequest(nowMs)) return false
      const reason = gate.refuses(connection, rawHeaders, url, nowMs)
      if (reason === undefined) return false
      const needs = describeHead(rawHeaders)
      if (needs.bodyBytes > 0 || needs.expects || !needs.namesHost) return false
      gate.refused(nowMs)
      shedding.shedHead(connection, reason, needs.prefersHtml, keepAlive, nowMs)
      return true
    } catch (error) {
      gate.failOpen.fail(error)
      return false
    }
  }

  mayStart(connection: Connection<Exchange>, exchange: Exchange): boolean {
    const { decide, gate, lines, server, waiting } = this.#parts
    try {
      const decision = decide(exchange, exchange.arrivedAt)
      if (decision === 'wait') lines.wait(connection, exchange)
      else if (decision === 'start') connection.stopIdleTimeout(server)
      else waiting.shedNow(exchange, decision)
      return decision === 'start'
    } catch (error) {
      gate.failOpen.fail(error)
      return true
    }
  }
}

/** An exchange whose response has no socket yet is told by its connection when the client goes away. */
export function noteOverlap(connection: Connection<Exchange> | undefined, exchange: Exchange): void {
  const writing = connection?.socket._httpMessage
  if (writing == null || writing === exchange.response) return
  connection!.overlapping ??= new Set()
  connection!.overlapping.add(exchange)
}

type ParsedRequest = IncomingMessage & { upgrade?: boolean }
