/** The connections of one server: sees them come, time out, change their protocol and go. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TurningAwayTime } from '../admission/turning-away.ts'
import { now } from '../clock.ts'
import { loopTurn } from '../signals/loop-turn.ts'
import { Connection, type HttpSocket, type OnHead, type RefuseAt, readOn } from './connection/connection.ts'
import { answerAfterEnd } from './connection/half-open.ts'
import { OpenConnections } from './connection/open-connections.ts'
import type { FailOpen } from './fail-open.ts'
import type { ServerGate } from './gate/server-gate.ts'
import type { Exchange } from './request/exchange.ts'
import { makeLast } from './response/last-answer.ts'

export interface ConnectionHooks {
  readonly onHead: OnHead
  readonly refuse: RefuseAt
  readonly onDisconnect: (connection: Connection) => void
}

export class Connections {
  /** HTTP/1 connections whose parser we stand at. */
  readonly open: OpenConnections = new OpenConnections()
  /** Sockets that another protocol has since an 'upgrade' or 'connect'. */
  readonly upgraded: Set<Duplex> = new Set()
  readonly #server: Server
  readonly #gate: ServerGate
  readonly #turningAway: TurningAwayTime
  readonly #failOpen: FailOpen
  readonly #hooks: ConnectionHooks

  constructor(
    server: Server,
    gate: ServerGate,
    turningAway: TurningAwayTime,
    failOpen: FailOpen,
    hooks: ConnectionHooks,
  ) {
    this.#server = server
    this.#gate = gate
    this.#turningAway = turningAway
    this.#failOpen = failOpen
    this.#hooks = hooks
  }

  /** Our connection at this socket, if we stand at its parser. */
  at(socket: HttpSocket): Connection | undefined {
    return Connection.of(socket, this.#hooks.onHead)
  }

  of({ connection, request }: Exchange): Connection | undefined {
    // The socket of an HTTP/2 client that has gone is not to be asked anything.
    if (connection !== undefined || request.httpVersionMajor >= 2 || request.socket == null) return connection
    return this.at(request.socket)
  }

  came(socket: HttpSocket | undefined): void {
    // Apps emit these events themselves, with whatever they have.
    if (this.#failOpen.isOpen || typeof socket?.on !== 'function' || this.at(socket) !== undefined) return
    try {
      const connection = Connection.attach(socket, this.#hooks.onHead, this.#hooks.refuse)
      if (connection === undefined) return
      const nowMs = now()
      this.#gate.activeAt = nowMs
      // Of no interest while nobody is turned away; and which turn it is costs a good part of a connection.
      if (this.#gate.queued > 0) this.#turningAway.spent(nowMs, loopTurn())
      this.open.add(connection)
      socket.on('close', () => this.#left(connection))
      answerAfterEnd(connection, this.#server)
    } catch (error) {
      this.#failOpen.fail(error)
    }
  }

  /** Node closes a connection on which nothing moves, though a handler may be at work. */
  timedOut(socket: HttpSocket | undefined): void {
    const connection = typeof socket === 'object' ? this.at(socket) : undefined
    if (connection !== undefined) connection.timedOut = true
  }

  /** The connection is another protocol's from now on. */
  changedProtocol(socket: Duplex | undefined): void {
    if (typeof socket?.on !== 'function' || typeof socket.destroy !== 'function') return
    try {
      socket.on('close', () => this.upgraded.delete(socket))
      readOn(socket as HttpSocket)
    } catch {
      return // that is no socket
    }
    this.upgraded.add(socket)
    const connection = this.at(socket as HttpSocket)
    if (connection !== undefined) this.open.delete(connection)
  }

  /** The answers that have not begun are the last ones of their connections. */
  makeAllLast(): void {
    for (const connection of this.open) {
      for (const response of connection.unanswered()) this.makeLast(response.req, response)
    }
  }

  makeLast(request: IncomingMessage, response: ServerResponse): void {
    if (request.httpVersionMajor >= 2) return
    const connection = this.at(request.socket)
    makeLast(
      request,
      response,
      () => connection?.hasLater(response) !== true,
      () => {
        if (connection !== undefined) connection.closing = true
      },
    )
  }

  #left(connection: Connection): void {
    this.open.delete(connection)
    connection.owed = undefined
    this.#hooks.onDisconnect(connection)
  }
}

/** An exchange whose response has no socket yet is told by its connection when the client goes away. */
export function noteOverlap(connection: Connection | undefined, exchange: Exchange): void {
  const writing = connection?.socket._httpMessage
  if (writing == null || writing === exchange.response) return
  connection!.overlapping ??= new Set()
  connection!.overlapping.add(exchange)
}
