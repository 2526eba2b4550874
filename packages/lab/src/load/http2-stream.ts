/** Sends one request at a time on an HTTP/2 connection, each on its own stream, which this object outlives. */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2'
import { Connection, type ConnectionOwner } from './connection.ts'
import { type Http2Session, type SessionUser, sessionFailure } from './http2-session.ts'
import type { Http2Message, OutgoingRequest } from './outgoing-request.ts'
import type { FailureCode } from './plan.ts'
import type { Peer } from './target.ts'

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM, NGHTTP2_HTTP_1_1_REQUIRED } = constants

/** Codes of protocol errors, by either side. */
const BROKEN: ReadonlySet<number> = new Set([
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_FLOW_CONTROL_ERROR,
  constants.NGHTTP2_FRAME_SIZE_ERROR,
  constants.NGHTTP2_COMPRESSION_ERROR,
])

/** With these codes the connection has just ended, and `sessionEnded` will report why. */
const SESSION_ENDS: ReadonlySet<string> = new Set(['ERR_HTTP2_INVALID_SESSION', 'ERR_HTTP2_STREAM_CANCEL'])

export class Http2Stream extends Connection implements SessionUser {
  bodyBytes = 0
  /** An HTTP/2 server announces the end with GOAWAY. */
  readonly keptMs: number = Number.POSITIVE_INFINITY
  readonly #session: Http2Session
  #message: Http2Message | undefined
  #headRequest = false
  #stream: ClientHttp2Stream | undefined
  #status = 0
  #length: number | undefined

  constructor(owner: ConnectionOwner, peer: Peer, session: Http2Session) {
    super(owner, peer)
    this.#session = session
    session.users.add(this)
    if (session.state === 'open') this.state = 'open'
  }

  send(request: OutgoingRequest): void {
    this.busy = true
    this.#message = request.message(this.number, this.run?.extracted)
    this.#headRequest = request.isHead
    if (this.state === 'open') this.#open()
  }

  destroy(): void {
    this.state = 'gone'
    this.busy = false
    const stream = this.#stream
    this.#stream = undefined
    if (stream?.destroyed === false && !stream.closed) stream.close(NGHTTP2_CANCEL)
    this.#session.leave(this)
  }

  connected(): void {
    this.state = 'open'
    if (this.busy) this.#open()
    this.owner.onConnected(this)
  }

  admitted(): void {
    if (this.busy && this.state === 'open') this.#open()
  }

  sessionEnded(code: FailureCode, reason: string): void {
    if (this.state === 'gone') return
    this.owner.onBytes(this.#session.newBytes())
    if (this.busy || this.state === 'connecting') this.fail(code, reason)
    else this.leave()
  }

  leaveIfIdle(): void {
    if (!this.busy && this.state === 'open') this.leave()
  }

  #open(): void {
    if (!this.#session.mayOpen(this)) return
    const message = this.#message!
    this.bodyBytes = 0
    this.#status = 0
    this.#length = undefined
    let stream: ClientHttp2Stream
    try {
      stream = this.#session.request(message)
    } catch (error) {
      const { code, message: reason } = error as NodeJS.ErrnoException
      if (SESSION_ENDS.has(code ?? '')) return
      this.fail(code === 'ERR_HTTP2_GOAWAY_SESSION' ? 'refused' : 'other', reason)
      return
    }
    this.#stream = stream
    stream
      .on('response', answer => this.#begins(answer))
      .on('data', (part: Uint8Array) => {
        this.#came(stream)
        this.bodyBytes += part.length
        this.run?.answer?.body(part)
      })
      .on('end', () => this.#ended(stream))
      .on('error', (error: NodeJS.ErrnoException) => this.#broke(stream, error))
      .on('close', () => this.#broke(stream))
    if (message.body !== undefined) stream.end(message.body)
    this.owner.onQueued(this)
  }

  #begins(answer: IncomingHttpHeaders): void {
    this.#status = Number(answer[':status'])
    for (const [name, values] of Object.entries(this.run?.answer === undefined ? {} : answer)) {
      for (const value of [values].flat()) this.run!.answer!.field(name, String(value))
    }
    const length = answer['content-length']
    this.#length = length === undefined || this.#headRequest || this.#status === 304 ? undefined : Number(length)
  }

  #came(stream: ClientHttp2Stream): void {
    if (stream === this.#stream) this.owner.onBytes(this.#session.newBytes())
  }

  #ended(stream: ClientHttp2Stream): void {
    // A stream that was reset also emits 'end' before 'close'.
    if (stream !== this.#stream || this.#status === 0 || stream.rstCode !== 0) return
    this.#came(stream)
    if (this.#length !== undefined && this.#length !== this.bodyBytes) {
      this.fail('reset', 'the stream closed too early')
      return
    }
    this.#stream = undefined
    this.busy = false
    // The server answered before it had the whole body.
    if (!stream.writableFinished) stream.close(NGHTTP2_CANCEL)
    const { lasts } = this.#session
    if (!lasts) this.state = 'closing'
    this.#session.finished()
    this.owner.onAnswer(this, this.#status, lasts)
    // The server now allows fewer streams than are open.
    if (!lasts && this.#session.state === 'open') this.leave()
  }

  /** Called without an error if the stream only closed. */
  #broke(stream: ClientHttp2Stream, error?: NodeJS.ErrnoException): void {
    if (stream !== this.#stream) return
    this.#came(stream)
    if (SESSION_ENDS.has(error?.code ?? '')) this.#stream = undefined
    else if (error !== undefined && error.code !== 'ERR_HTTP2_STREAM_ERROR') this.fail(...sessionFailure(error))
    else this.fail(...streamFailure(stream.rstCode ?? 0))
  }
}

const streamFailure = (code: number): [code: FailureCode, reason: string] => {
  if (code === NGHTTP2_REFUSED_STREAM) return ['refused', '']
  if (code === NGHTTP2_HTTP_1_1_REQUIRED) return ['other', 'the server asks for HTTP/1.1 (HTTP_1_1_REQUIRED)']
  if (BROKEN.has(code)) return ['malformed', `a stream ended with ${nameOf(code)}`]
  return ['reset', '']
}

const nameOf = (code: number): string =>
  Object.entries(constants).find(([name, value]) => value === code && /^NGHTTP2_[A-Z_]+_ERROR$/.test(name))?.[0] ??
  `code ${code}`
