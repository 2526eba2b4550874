/** One HTTP/2 connection: decides which streams (http2-stream.ts) may open, and ends them when it ends. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { explain, failureOf } from './failure.ts'
import type { Http2Message } from './outgoing-request.ts'
import type { FailureCode } from './plan.ts'
import { dial, type Peer } from './target.ts'

/** Answers are discarded as they arrive: with a window this large the server never has to wait. */
const WINDOW_BYTES = 2 ** 24

/** A user of the connection, for one stream at a time. */
export interface SessionUser {
  connected(): void
  /** The user may open the stream that `mayOpen` refused. */
  admitted(): void
  /** The connection accepts fewer requests, or none. An idle user leaves. */
  leaveIfIdle(): void
  sessionEnded(code: FailureCode, reason: string): void
}

export class Http2Session {
  state: 'connecting' | 'open' | 'leaving' | 'gone' = 'connecting'
  readonly users: Set<SessionUser> = new Set()
  readonly #fresh: boolean
  readonly #onEnd: (session: Http2Session) => void
  readonly #socket: Socket
  #limit: number
  /** The server has sent its maximum number of streams (SETTINGS). */
  #settled = false
  /** The user that may send before the server's SETTINGS arrive. */
  #first: SessionUser | undefined
  readonly #held: Set<SessionUser> = new Set()
  #session: ClientHttp2Session | undefined
  #bytesSeen = 0

  /** At most `streams` at the same time, fewer if the server says so; only one in total if `fresh`. */
  constructor(
    peer: Peer,
    tls: ConnectionOptions,
    streams: number,
    fresh: boolean,
    onEnd: (session: Http2Session) => void,
  ) {
    this.#limit = streams
    this.#fresh = fresh
    this.#onEnd = onEnd
    this.#socket = dial(peer, tls, () => this.#connected(peer))
      .on('error', error => this.#end(...sessionFailure(error, this.state !== 'connecting')))
      .on('close', () => this.#end('reset', 'the connection closed too early'))
  }

  /** Number of further streams that it can carry. */
  get room(): number {
    return this.state === 'connecting' || this.state === 'open' ? this.#limit - this.users.size : 0
  }

  /** True if users may send further requests on it. */
  get lasts(): boolean {
    return this.state === 'open' && !this.#fresh && this.users.size <= this.#limit
  }

  /** Bytes read since the last call. */
  newBytes(): number {
    const { bytesRead } = this.#socket
    const more = bytesRead - this.#bytesSeen
    this.#bytesSeen = bytesRead
    return more
  }

  /**
   * Until SETTINGS arrive, only one user may open a stream: the server may allow only one. Other users are `admitted`
   * after that.
   */
  mayOpen(user: SessionUser): boolean {
    this.#first ??= user
    if (this.#settled || this.#first === user) return true
    this.#held.add(user)
    return false
  }

  /** Throws if node:http2 refuses to send the request. */
  request({ headers, body }: Http2Message): ClientHttp2Stream {
    return this.#session!.request(headers, { endStream: body === undefined })
  }

  /** The only request of a fresh connection is done: GOAWAY asks the server to close the connection. */
  finished(): void {
    if (!this.#fresh || this.state !== 'open') return
    this.state = 'leaving'
    this.#session!.goaway(constants.NGHTTP2_NO_ERROR)
  }

  leave(user: SessionUser): void {
    this.users.delete(user)
    this.#held.delete(user)
    if (this.users.size === 0 && (this.state !== 'open' || this.#fresh)) this.destroy()
  }

  destroy(): void {
    if (this.state === 'gone') return
    this.state = 'gone'
    this.#session?.destroy()
    this.#socket.destroy()
    this.#onEnd(this)
  }

  #connected(peer: Peer): void {
    if (this.state !== 'connecting') return
    const { alpnProtocol } = this.#socket as Socket & { readonly alpnProtocol?: string | false }
    if (peer.tlsName !== undefined && alpnProtocol !== 'h2') {
      this.#end('malformed', 'the server does not offer HTTP/2 (h2) over TLS')
      return
    }
    this.state = 'open'
    const authority = `${peer.tlsName === undefined ? 'http' : 'https'}://localhost`
    this.#session = connect(authority, {
      createConnection: () => this.#socket,
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    })
    this.#session
      .on('connect', session => session.setLocalWindowSize(WINDOW_BYTES))
      .on('remoteSettings', ({ maxConcurrentStreams }) => this.#limitTo(maxConcurrentStreams))
      .on('goaway', () => this.#retire())
      .on('error', error => this.#end(...sessionFailure(error)))
      .on('close', () => this.#end('reset', 'the connection closed too early'))
    for (const user of [...this.users]) user.connected()
  }

  #limitTo(most: number | undefined): void {
    this.#limit = Math.min(this.#limit, most ?? this.#limit)
    for (const user of [...this.users]) if (this.users.size > this.#limit) user.leaveIfIdle()
    this.#settled = true
    for (const user of [...this.#held]) {
      this.#held.delete(user)
      user.admitted()
    }
  }

  /** The server accepts no more requests (GOAWAY). The connection ends when the accepted ones are answered. */
  #retire(): void {
    if (this.state !== 'open') return
    this.state = 'leaving'
    for (const user of [...this.users]) user.leaveIfIdle()
  }

  #end(code: FailureCode, reason: string): void {
    if (this.state === 'gone') return
    const users = [...this.users]
    this.destroy()
    for (const user of users) user.sessionEnded(code, reason)
  }
}

/** The failure for an error, from node:http2 or the socket, that ends the connection. */
export const sessionFailure = (error: NodeJS.ErrnoException, connected = true): [code: FailureCode, reason: string] => {
  if (error.code === 'ERR_HTTP2_ERROR') return ['malformed', `no valid HTTP/2 (${error.message})`]
  if (error.code === 'ERR_HTTP2_SESSION_ERROR') return ['reset', error.message]
  return [failureOf(error.code, connected), explain(error)]
}
