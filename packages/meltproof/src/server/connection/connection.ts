/**
 * What the door remembers of one HTTP/1 connection, and the one place that touches Node's parser.
 *
 * Node hands each parsed head to `socket.parser.onIncoming`. Standing in that place we see a request before a
 * ServerResponse exists for it: a shed costs one write, and a request that must wait is simply handed on later. The
 * property has had this name and meaning since Node 0.12; where it is missing we say so and the door falls back to
 * the 'request' event.
 */
import { AsyncResource } from 'node:async_hooks'
import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Exchange } from '../request/exchange.ts'
import { ASKED_AT_HEAD, type AskedAtHead, NOBODY, type Parser, standAtHead } from './parser-head.ts'
import type { AnswerChoice } from '../shed/shed-answer.ts'

/** Returns 0, or 2 for an upgrade. */
export type OnIncoming = (request: IncomingMessage, keepAlive: boolean) => number

/** What the door does with a parsed head. */
export type OnHead = (connection: Connection, request: IncomingMessage, keepAlive: boolean) => number

/** Answers a plain GET at its head, if it can be shed at once; true when it did. */
export type RefuseAt = (
  connection: Connection,
  rawHeaders: readonly string[],
  url: string,
  keepAlive: boolean,
) => boolean

/** A socket with the properties node:http gives it. */
export interface HttpSocket extends Socket {
  [ASKED_AT_HEAD]?: Connection
  parser?: Parser | null
  /** The response that currently writes to this socket. */
  _httpMessage?: (object & { _last?: boolean }) | null
  _paused?: boolean
  _handle?: { reading?: boolean; readStart?: () => number } | null
}

export class Connection implements AskedAtHead {
  readonly socket: HttpSocket
  /** Node's own handling of a parsed head. */
  readonly handOn: OnIncoming
  /** The request of this connection that waits at the gate. */
  waiting: Exchange | undefined
  /** Requests pipelined behind the waiting one, in order. */
  behind: Exchange[] = []
  /** When the last answer that somebody observed had been given to it: its client can not have asked again before. */
  answeredAtMs: number = Number.NEGATIVE_INFINITY
  /** The answer of a request that was shed, when it was put off (held-answers.ts). */
  owed: AnswerChoice | undefined
  /** Said goodbye: whatever else arrives is not a request to us (RFC 9112 section 9.6). */
  closing = false
  /** Node has closed it, or is about to, because nothing moved on it. */
  timedOut = false
  /**
   * Requests in service that were pipelined behind another one in service. Their responses have no socket yet, and
   * before Node 24 such a response never learns that its client went away.
   */
  overlapping: Set<Exchange> | undefined
  /** Its neighbours among the open ones (open-connections.ts). */
  openedBefore: Connection | undefined
  openedAfter: Connection | undefined
  /** True while the idle timeout on the socket is one that we set and Node does not know of. */
  #ownIdleTimeout = false
  #pausedByUs = false
  #context: AsyncResource | undefined

  readonly #door: OnHead
  readonly #refuse: RefuseAt

  private constructor(socket: HttpSocket, handOn: OnIncoming, door: OnHead, refuse: RefuseAt) {
    this.#door = door
    this.#refuse = refuse
    this.socket = socket
    this.handOn = handOn
  }

  /** Stands between parser and Node. Undefined when this Node keeps its parser elsewhere. */
  static attach(socket: HttpSocket, onIncoming: OnHead, refuse: RefuseAt): Connection | undefined {
    const parser = socket.parser
    if (typeof parser?.onIncoming !== 'function') return undefined
    const connection = new Connection(socket, parser.onIncoming, onIncoming, refuse)
    socket[ASKED_AT_HEAD] = connection
    parser.onIncoming = (request, keepAlive) => onIncoming(connection, request, keepAlive)
    standAtHead(parser)
    return connection
  }

  refuseAtHead(rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean {
    return this.#refuse(this, rawHeaders, url, keepAlive)
  }

  /** The connection that the door with this `onIncoming` has at a socket. */
  static of(socket: HttpSocket, onIncoming: OnHead): Connection | undefined {
    const connection = socket[ASKED_AT_HEAD]
    return connection !== undefined && connection.#door === onIncoming ? connection : undefined
  }

  /** Nothing is under way: a ready answer can be written here and now without changing the order of answers. */
  get quiet(): boolean {
    const { socket } = this
    return (
      !this.closing &&
      this.owed === undefined &&
      this.waiting === undefined &&
      this.behind.length === 0 &&
      socket._httpMessage == null &&
      socket.writableLength === 0 &&
      socket.writable &&
      !socket.destroyed
    )
  }

  /** True when a request that arrives now has to get in line. */
  get hasLine(): boolean {
    return this.waiting !== undefined || this.owed !== undefined || this.behind.length > 0
  }

  /** True when requests behind the one that `response` answers have to be answered on this connection, too. */
  hasLater(response: ServerResponse): boolean {
    if (this.hasLine) return true
    let passed = this.socket._httpMessage === response
    for (const exchange of this.overlapping ?? []) {
      if (exchange.response === response) passed = true
      else if (passed && exchange.response?.writableFinished !== true) return true
    }
    return false
  }

  /** Its answers whose heads are still to be written, as far as their requests are in service. */
  *unanswered(): Generator<ServerResponse> {
    const { _httpMessage: current } = this.socket
    if (current instanceof ServerResponse && !current.headersSent) yield current
    for (const response of this.queuedResponses()) if (!response.headersSent) yield response
  }

  /** Responses that Node has in line behind the one that is being written. */
  *queuedResponses(): Generator<ServerResponse> {
    for (const { response } of this.overlapping ?? []) {
      if (response !== undefined && response !== this.socket._httpMessage) yield response
    }
  }

  /**
   * Remembers the async context of this connection, so that a request started later, from the gate's turn, does not
   * see the AsyncLocalStorage of whichever request ended just then.
   */
  keepContext(): void {
    this.#context ??= new AsyncResource('MELTPROOF_WAIT', { requireManualDestroy: false })
  }

  /** Hands a request that has waited on to Node, in the context of its connection. */
  handOnLater(exchange: Exchange): number {
    const handOn = (): number => this.handOn(exchange.request, exchange.keepAlive)
    return this.#context === undefined ? handOn() : this.#context.runInAsyncScope(handOn)
  }

  /** Drops what still comes of a request that will not be read, and makes sure that it does come. */
  forget(request: IncomingMessage): void {
    const { socket } = this
    if (socket.parser?.incoming === request) socket.parser.incoming = NOBODY
    // A body that nobody read while its request waited has stopped the socket when its buffer was full.
    if (socket._paused !== true && socket.isPaused()) socket.resume()
  }

  /**
   * An answer has been written without Node's knowledge: close the connection if nothing more comes in time,
   * as Node does after its own answers.
   */
  startIdleTimeout(server: Server): void {
    const idleMs = idleTimeoutMs(server)
    const { socket } = this
    if (idleMs === 0 || socket.timeout === idleMs || typeof socket.setTimeout !== 'function') return
    socket.setTimeout(idleMs)
    this.#ownIdleTimeout = true
  }

  /** A request is about to be handled: an idle timeout that Node does not know of must not cut it. */
  stopIdleTimeout(server: Server): void {
    if (!this.#ownIdleTimeout) return
    this.#ownIdleTimeout = false
    this.socket.setTimeout(server.timeout || 0)
  }

  /** A request is about to wait: neither our idle timeout nor the one of Node's, which only handing on ends. */
  stopEveryIdleTimeout(server: Server): void {
    const { socket } = this
    if (!this.#ownIdleTimeout && (!socket.timeout || socket.timeout !== idleTimeoutMs(server))) return
    this.#ownIdleTimeout = false
    socket.setTimeout(server.timeout || 0)
  }

  /** Reads no more pipelined requests for now; bounds what one connection can make us hold. */
  pauseReading(): void {
    if (this.socket._paused === true) return
    this.#pausedByUs = true
    this.socket._paused = true
    this.socket.pause()
  }

  /** Undoes pauseReading(). A pause of Node's, for a client that does not read its answers, stays. */
  resumeReading(): void {
    if (!this.#pausedByUs) return
    this.#pausedByUs = false
    const { socket } = this
    if (socket._paused !== true || socket.destroyed) return
    socket._paused = false
    socket.parser?.resume?.()
    socket.resume()
  }
}

/** Whatever else arrives at this socket is not a request to us. */
export function takeNoMore(socket: HttpSocket): void {
  const connection = socket[ASKED_AT_HEAD]
  if (connection !== undefined) connection.closing = true
}

/**
 * Node stops reading a socket whose client gets ahead of its answers, as we do, or whose body nobody reads, and forgets to
 * read on when it gives the socket to whoever upgrades: it would stay open and unread for ever.
 */
export function readOn({ _handle: handle }: HttpSocket): void {
  if (typeof handle?.readStart !== 'function') return
  handle.reading = true
  handle.readStart()
}

/** Stands in `socket._httpMessage` for a moment: Node takes an answer to be under way. */
export const STAND_IN: { finished: boolean; _last?: boolean } = { finished: false }

/** While `act` runs, Node's ways to close idle connections leave these alone: one with a response is not idle. */
export function sparing(connections: Iterable<Connection>, act: () => void): void {
  const marked: HttpSocket[] = []
  for (const { socket } of connections) {
    if (socket._httpMessage != null) continue
    socket._httpMessage = STAND_IN
    marked.push(socket)
  }
  try {
    act()
  } finally {
    for (const socket of marked) if (socket._httpMessage === STAND_IN) socket._httpMessage = null
  }
}

/** How long Node keeps a connection open between requests, 0 for ever. Newer Node adds a buffer. */
function idleTimeoutMs(server: Server): number {
  const { keepAliveTimeout, keepAliveTimeoutBuffer = 0 } = server as Server & { keepAliveTimeoutBuffer?: number }
  if (!(keepAliveTimeout > 0) || !Number.isFinite(keepAliveTimeout)) return 0
  const usable = keepAliveTimeoutBuffer >= 0 && Number.isFinite(keepAliveTimeoutBuffer)
  return keepAliveTimeout + (usable ? keepAliveTimeoutBuffer : 1000)
}
