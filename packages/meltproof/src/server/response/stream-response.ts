/** The answering half of a raw HTTP/2 stream as a response, by the names that node:http has. */
import type { ServerResponse } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { isDisconnected } from '../request/stream-request.ts'
import { throughToStream } from '../request/through-to-stream.ts'
import { DEADLINE_EXCEEDED } from './grpc-answers.ts'

export class StreamResponse {
  readonly stream: ClosedByApp
  readonly #mayTimeOut: boolean

  /** @param headers of its request */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.stream = stream
    this.#mayTimeOut = headers['grpc-timeout'] !== undefined
    stream.close = closeByApp
  }

  /** Typed as what the rest of the server knows. */
  static of(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): ServerResponse {
    return new StreamResponse(stream, headers) as unknown as ServerResponse
  }

  /** The library of gRPC answers by itself when a call's time is up. Its handler works on, as after a client that leaves. */
  get timedOut(): boolean {
    return this.#mayTimeOut && String(this.getHeader('grpc-status')) === DEADLINE_EXCEEDED
  }

  get statusCode(): number {
    return Number(this.stream.sentHeaders?.[':status'] ?? 200)
  }

  /** By the app. Node ends the streams itself whose clients leave, and closes those of a connection that has gone. */
  get writableEnded(): boolean {
    const { stream } = this
    if (isDisconnected(stream)) return false
    return stream[CLOSED_BY_APP] === true || (stream.writableEnded && !stream.aborted && !this.timedOut)
  }

  /** What the app destroyed the stream with. One that was reset has an error of another kind, or its connection's. */
  get errored(): Error | null {
    const { errored } = this.stream
    if (isDisconnected(this.stream)) return null
    return (errored as NodeJS.ErrnoException | null)?.code === 'ERR_HTTP2_STREAM_ERROR' ? null : errored
  }

  getHeader(name: string): OutgoingHttpHeaders[string] {
    return this.stream.sentHeaders?.[name]
  }

  /** Whatever goes out is set in one call. */
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

  /** In its place nothing can tell what the app does: Node itself destroys a stream by the same method. */
  destroy(): void {
    this.stream.destroy()
  }
}

throughToStream(StreamResponse.prototype, [
  'once',
  'off',
  'removeListener',
  'listenerCount',
  'write',
  'end',
  'destroyed',
  'headersSent',
  'writableFinished',
  'writableLength',
  'writableNeedDrain',
])

const CLOSED_BY_APP: unique symbol = Symbol('meltproof.closed')
type ClosedByApp = ServerHttp2Stream & { [CLOSED_BY_APP]?: true }

/** One for all streams. Node has another way to close those of clients that leave. */
function closeByApp(this: ClosedByApp, ...args: Parameters<ServerHttp2Stream['close']>): void {
  this[CLOSED_BY_APP] = true
  // To take ours off again would cost each stream 10 us.
  const { close } = Object.getPrototypeOf(this) as ServerHttp2Stream
  close.apply(this, args)
}
