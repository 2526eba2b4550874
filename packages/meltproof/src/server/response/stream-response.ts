/** Presents the answering half of a raw HTTP/2 stream as a response with node:http's names. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { isDisconnected, throughToStream } from '../request/stream-request.ts'
import { DEADLINE_EXCEEDED } from './grpc-answers.ts'

export class StreamResponse {
  readonly stream: ClosedByApp
  readonly #mayTimeOut: boolean

  /** @param headers the header fields of its request */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.stream = stream
    this.#mayTimeOut = headers['grpc-timeout'] !== undefined
    stream.close = closeByApp
  }

  /** True if gRPC's library answered because the call's deadline passed. The handler may still work then. */
  get timedOut(): boolean {
    return this.#mayTimeOut && String(this.getHeader('grpc-status')) === DEADLINE_EXCEEDED
  }

  get statusCode(): number {
    return Number(this.stream.sentHeaders?.[':status'] ?? 200)
  }

  /** True if the app ended the stream. Node itself ends the streams of clients that leave. */
  get writableEnded(): boolean {
    const { stream } = this
    if (isDisconnected(stream)) return false
    return stream[CLOSED_BY_APP] === true || (stream.writableEnded && !stream.aborted && !this.timedOut)
  }

  /** The error with which the app destroyed the stream; null for a reset stream or a lost connection. */
  get errored(): Error | null {
    const { errored } = this.stream
    if (isDisconnected(this.stream)) return null
    return (errored as NodeJS.ErrnoException | null)?.code === 'ERR_HTTP2_STREAM_ERROR' ? null : errored
  }

  getHeader(name: string): OutgoingHttpHeaders[string] {
    return this.stream.sentHeaders?.[name]
  }

  /** Empty, because the head is set in one call when it is sent. */
  getHeaderNames(): readonly string[] {
    return []
  }

  writeHead(status: number, fields: OutgoingHttpHeaders = {}): void {
    const { stream } = this
    if (!stream.destroyed && !stream.closed) stream.respond({ ':status': status, ...fields })
  }

  on(event: string, listener: (...args: unknown[]) => void): this {
    this.stream.on(event, listener)
    return this
  }

  /** Not forwarded: in-service-checks.ts replaces this method, and must not see Node's own `stream.destroy()`. */
  destroy(): void {
    this.stream.destroy()
  }
}

throughToStream(StreamResponse.prototype, [
  ...['once', 'off', 'removeListener', 'listenerCount', 'write', 'end'],
  ...['destroyed', 'headersSent', 'writableFinished', 'writableLength', 'writableNeedDrain'],
])

const CLOSED_BY_APP: unique symbol = Symbol('meltproof.closed')
type ClosedByApp = ServerHttp2Stream & { [CLOSED_BY_APP]?: true }

/** Replaces `close` of all streams. Only apps call it: Node closes the streams of clients that leave in another way. */
function closeByApp(this: ClosedByApp, ...args: Parameters<ServerHttp2Stream['close']>): void {
  this[CLOSED_BY_APP] = true
  // The replacement stays: removing it would cost each stream 10 us.
  const { close } = Object.getPrototypeOf(this) as ServerHttp2Stream
  close.apply(this, args)
}
