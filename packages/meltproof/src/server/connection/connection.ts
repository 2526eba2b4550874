/** One HTTP/1 connection. Replaces `socket.parser.onIncoming` to see requests before Node creates a response. */
import { AsyncResource } from 'node:async_hooks'
import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import { requests } from '../../channels.ts'
import type { Linked } from '../../linked-list.ts'
import type { AnswerKind } from './answer-kind.ts'
import { CONNECTION, type HeadConnection, type HttpSocket, DISCARDED_REQUEST, type OnIncoming } from './http-socket.ts'
import { hookHeadersComplete } from './parser-head.ts'

export interface ConnectionRequest {
  readonly request: IncomingMessage
  response: ServerResponse | undefined
  readonly keepAlive: boolean
  arrivedAt: number
}

/** `pipeline`: too many pipelined requests wait. `memory`: memory is full. */
export type PauseReason = 'pipeline' | 'memory'
const PAUSES: Readonly<Record<PauseReason, number>> = { pipeline: 1, memory: 2 }

export interface HeadHandler<R extends ConnectionRequest> {
  /** Returns the number that Node's parser expects: 0, or 2 for an upgrade. */
  onHead(connection: Connection<R>, request: IncomingMessage, keepAlive: boolean): number
  refuse(connection: Connection<R>, rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean
}

export class Connection<R extends ConnectionRequest = ConnectionRequest>
  implements HeadConnection, Linked<Connection<R>>
{
  readonly socket: HttpSocket
  readonly handOn: OnIncoming
  waiting: R | undefined
  /** The request that was handed to Node last, until its response closes. */
  current: R | undefined
  behind: R[] = []
  /** When the client got its last observed answer, ms. The client cannot have sent its next request earlier. */
  answeredAtMs: number = Number.NEGATIVE_INFINITY
  delayedAnswer: AnswerKind | undefined
  closing = false
  handedOver = false
  /** True if Node closed or detached the connection, or the app closed all connections: handlers may still work. */
  cut = false
  /** Pipelined requests in service whose responses have no socket yet. Before Node 24 they get no 'close' event. */
  overlapping: Set<R> | undefined
  before: Connection<R> | undefined
  after: Connection<R> | undefined
  /** True while the socket has an idle timeout that meltproof set, and that Node does not stop. */
  #ownIdleTimeout = false
  #stoppedTimeoutMs = 0
  /** Bits of {@link PAUSES}: the reasons not to read the socket. */
  #pausedFor = 0
  #context: AsyncResource | undefined
  readonly path: HeadHandler<R>

  private constructor(socket: HttpSocket, handOn: OnIncoming, path: HeadHandler<R>) {
    this.path = path
    this.socket = socket
    this.handOn = handOn
  }

  static attach<R extends ConnectionRequest>(socket: HttpSocket, path: HeadHandler<R>): Connection<R> | undefined {
    const { parser } = socket
    if (typeof parser?.onIncoming !== 'function') return undefined
    const connection = new Connection(socket, parser.onIncoming, path)
    socket[CONNECTION] = connection
    // Reading the address makes Node cache it. Once the client has left, it could not be read.
    if (requests.hasSubscribers) void socket.remoteAddress
    parser.onIncoming = (request, keepAlive) => path.onHead(connection, request, keepAlive)
    hookHeadersComplete(parser)
    return connection
  }

  /** True when no response is in progress, so that meltproof may write an answer now. */
  get quiet(): boolean {
    const { socket } = this
    if (this.closing || this.hasQueue || socket._httpMessage != null) return false
    return socket.writable && socket.writableLength === 0 && !socket.destroyed
  }

  get hasQueue(): boolean {
    return this.waiting !== undefined || this.delayedAnswer !== undefined || this.behind.length > 0
  }

  hasLater(response: ServerResponse): boolean {
    if (this.hasQueue) return true
    let passed = this.socket._httpMessage === response
    for (const { response: other } of this.overlapping ?? []) {
      if (other === response) passed = true
      else if (passed && other?.writableFinished !== true) return true
    }
    return false
  }

  /** The responses of requests in service whose heads are not written yet. */
  *unanswered(): Generator<ServerResponse> {
    const { _httpMessage: current } = this.socket
    if (current instanceof ServerResponse && !current.headersSent) yield current
    for (const { response } of this.overlapping ?? []) {
      if (response !== undefined && response !== current && !response.headersSent) yield response
    }
  }

  /** Without this context, a waiting request would start in the async context of the request whose end starts it. */
  keepContext(): void {
    this.#context ??= new AsyncResource('MELTPROOF_WAIT', { requireManualDestroy: false })
  }

  handOnLater({ request, keepAlive }: R): number {
    // When a client ends its side, Node makes the last response close the connection. This request had none then.
    const isLast = this.socket.readableEnded && this.behind.length === 0
    return this.#inContext(() => this.handOn(request, keepAlive && !isLast))
  }

  #inContext<T>(act: () => T): T {
    return this.#context === undefined ? act() : this.#context.runInAsyncScope(act)
  }

  forget(request: IncomingMessage): void {
    const { socket } = this
    if (socket.parser?.incoming === request) socket.parser.incoming = DISCARDED_REQUEST
    if (socket._paused !== true && socket.isPaused()) socket.resume()
  }

  /** Starts the idle timeout after an answer that Node does not see, as Node itself does after all other answers. */
  startIdleTimeout(server: Server): void {
    const idleMs = idleTimeoutMs(server)
    const { socket } = this
    if (idleMs === 0 || socket.timeout === idleMs || typeof socket.setTimeout !== 'function') return
    socket.setTimeout(idleMs)
    this.#ownIdleTimeout = true
  }

  stopIdleTimeout(server: Server): void {
    if (!this.#ownIdleTimeout) return
    this.#ownIdleTimeout = false
    this.socket.setTimeout(server.timeout || 0)
  }

  /** Also stops the app's timeout: 'request' listeners may extend it, but they do not run while a request waits. */
  stopTimeouts(server: Server): void {
    const { socket } = this
    if (socket.timeout && socket.timeout === idleTimeoutMs(server)) this.#ownIdleTimeout = true
    this.stopIdleTimeout(server)
    if (!socket.timeout || typeof socket.setTimeout !== 'function') return
    this.#stoppedTimeoutMs = socket.timeout
    socket.setTimeout(0)
    // Not 0: the app may set 0, and Node sets it on a socket that is sent to another process.
    ;(socket as { timeout?: number | undefined }).timeout = undefined
  }

  startTimeout(): void {
    const ms = this.#stoppedTimeoutMs
    this.#stoppedTimeoutMs = 0
    if (ms > 0 && this.socket.timeout === undefined) this.#inContext(() => this.socket.setTimeout(ms))
  }

  get isMidBody(): boolean {
    return this.socket.parser?.incoming?.complete === false
  }

  pauseReading(reason: PauseReason): void {
    if (this.socket._paused === true && this.#pausedFor === 0) return
    this.#pausedFor |= PAUSES[reason]
    if (this.socket._paused === true) return
    this.socket._paused = true
    this.socket.pause()
  }

  resumeReading(reason: PauseReason): void {
    if (this.#pausedFor === 0) return
    this.#pausedFor &= ~PAUSES[reason]
    if (this.#pausedFor !== 0) return
    const { socket } = this
    if (socket._paused !== true || socket.destroyed) return
    socket._paused = false
    socket.parser?.resume?.()
    socket.resume()
  }
}

/** How long Node keeps a connection open between requests, ms; 0 for no limit. Newer versions of Node add a buffer. */
export function idleTimeoutMs(server: Server): number {
  const { keepAliveTimeout, keepAliveTimeoutBuffer = 0 } = server as Server & { keepAliveTimeoutBuffer?: number }
  if (!(keepAliveTimeout > 0) || !Number.isFinite(keepAliveTimeout)) return 0
  const usable = keepAliveTimeoutBuffer >= 0 && Number.isFinite(keepAliveTimeoutBuffer)
  return keepAliveTimeout + (usable ? keepAliveTimeoutBuffer : 1000)
}
