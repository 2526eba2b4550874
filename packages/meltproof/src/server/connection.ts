/**
 * What the door remembers of one HTTP/1 connection, and the one place that touches Node's parser.
 *
 * Node hands each parsed head to `socket.parser.onIncoming`. Standing in that place we see a request before a
 * ServerResponse exists for it: a shed costs one write, and a request that must wait is simply handed on later. The
 * property has had this name and meaning since Node 0.12; where it is missing we say so and the door falls back to
 * the 'request' event.
 */
import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Exchange } from './exchange.ts'

/** Node's parser as far as we rely on it. */
interface Parser {
  onIncoming: OnIncoming | null
  incoming: IncomingMessage | null
  resume?: () => void
}

/** Returns 0, or 2 for an upgrade. */
export type OnIncoming = (request: IncomingMessage, keepAlive: boolean) => number

/** What the door does with a parsed head. */
export type OnHead = (connection: Connection, request: IncomingMessage, keepAlive: boolean) => number

/** A socket with the properties node:http gives it. */
export interface HttpSocket extends Socket {
  parser?: Parser | null
  /** The response that currently writes to this socket. */
  _httpMessage?: object | null
  _paused?: boolean
}

export class Connection {
  readonly socket: HttpSocket
  /** Node's own handling of a parsed head. */
  readonly handOn: OnIncoming
  /** The request of this connection that waits at the gate. */
  waiting: Exchange | undefined
  /** Requests pipelined behind the waiting one, in order. */
  behind: Exchange[] = []
  /** True while the idle timeout on the socket is one that we set and Node does not know of. */
  ownIdleTimeout = false
  #context: AsyncResource | undefined

  private constructor(socket: HttpSocket, handOn: OnIncoming) {
    this.socket = socket
    this.handOn = handOn
  }

  /** Stands between parser and Node. Undefined when this Node keeps its parser elsewhere. */
  static attach(socket: HttpSocket, onIncoming: OnHead): Connection | undefined {
    const parser = socket.parser
    if (typeof parser?.onIncoming !== 'function') return undefined
    const connection = new Connection(socket, parser.onIncoming)
    parser.onIncoming = (request, keepAlive) => onIncoming(connection, request, keepAlive)
    return connection
  }

  /**
   * Remembers the async context of this connection, so that a request started later, from the gate's turn, does not
   * see the AsyncLocalStorage of whichever request ended just then.
   */
  keepContext(): void {
    this.#context ??= new AsyncResource('MELTPROOF_WAIT', { requireManualDestroy: false })
  }

  /** Hands a request that has waited on to Node, in the context of its connection. */
  handOnLater(exchange: Exchange): void {
    const handOn = (): number => this.handOn(exchange.request, exchange.keepAlive)
    if (this.#context === undefined) handOn()
    else this.#context.runInAsyncScope(handOn)
  }

  /** Node may drop the rest of a request nobody will read: its parser skips a body that has no message to go to. */
  forget(request: IncomingMessage): void {
    const parser = this.socket.parser
    if (parser?.incoming === request) parser.incoming = null
  }

  /**
   * An answer has been written without Node's knowledge: close the connection if nothing more comes in time,
   * as Node does after its own answers (server.keepAliveTimeout, plus its buffer of a second).
   */
  startIdleTimeout(server: Server): void {
    const keepAliveMs = server.keepAliveTimeout
    if (!(keepAliveMs > 0) || !Number.isFinite(keepAliveMs)) return
    const buffer = (server as Server & { keepAliveTimeoutBuffer?: number }).keepAliveTimeoutBuffer
    const idleMs = keepAliveMs + (buffer !== undefined && buffer >= 0 ? buffer : 1000)
    if (this.socket.timeout === idleMs) return
    this.socket.setTimeout(idleMs)
    this.ownIdleTimeout = true
  }

  /** A request is about to be handled, or to wait: the idle timeout must not cut it. */
  stopIdleTimeout(server: Server): void {
    if (!this.ownIdleTimeout) return
    this.ownIdleTimeout = false
    this.socket.setTimeout(server.timeout || 0)
  }

  /** Reads no more pipelined requests for now; bounds what one connection can make us hold. */
  pauseReading(): void {
    this.socket._paused = true
    this.socket.pause()
  }

  resumeReading(): void {
    if (this.socket._paused !== true || this.socket.destroyed) return
    this.socket._paused = false
    this.socket.parser?.resume?.()
    this.socket.resume()
  }
}
