/**
 * Counts the bytes of a response body that were passed to its connection. Over HTTP/1 these are the bytes that the
 * socket accepted while the response used it, without the head, which Node stores in the response. Over HTTP/2, where
 * many responses share a socket, these are the bytes that were written to the response.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { sizeOf } from '../server/response/chunk-size.ts'
import { StreamResponse } from '../server/response/stream-response.ts'
import type { RequestTimes } from './request-timeline.ts'
import { isHttp2 } from '../server/request/is-http2.ts'

interface NodeResponse extends ServerResponse {
  readonly _header?: string | null
  readonly _headerSent?: boolean
  /** False for responses to HEAD, and for 204 and 304. */
  readonly _hasBody?: boolean
  /** Content-Length: from the headers, or computed by Node for a single `end(body)`. */
  readonly _contentLength?: number | null
}

export function beginCount(times: RequestTimes, request: IncomingMessage, response: ServerResponse): void {
  if (isHttp2(request)) {
    times.byteCount = 0
    countGiven(times, response, 'write')
    // In Node's compatibility API `end(body)` and pipes call `write`. In a raw stream `end(body)` does not.
    if (response instanceof StreamResponse) countGiven(times, response, 'end')
    return
  }
  const begin = ({ bytesWritten }: Socket): void => {
    times.byteCount = bytesWritten ?? -1
  }
  // A pipelined response gets its socket later.
  if (response.socket === null) response.on('socket', begin)
  else begin(response.socket)
}

export function bodyBytes(times: RequestTimes, request: IncomingMessage, response: ServerResponse): number | undefined {
  if (!response.headersSent) return 0
  if (!isHttp2(request)) return sentBytes(times, request, response)
  if (request.method === 'HEAD' || BODILESS.has(response.statusCode)) return 0
  // Nothing was counted, so the app may have answered on the raw stream.
  return times.byteCount === 0 && !response.writableEnded ? undefined : times.byteCount
}

function sentBytes(times: RequestTimes, request: IncomingMessage, response: NodeResponse): number | undefined {
  if (response._hasBody === false) return 0
  const given = givenBytes(times, request, response)
  const { _contentLength: announced } = response
  if (!response.writableFinished || response.chunkedEncoding) return given
  if (typeof announced !== 'number' || !(announced >= 0)) return given
  // The socket may have sent other data (103), and a handler may have announced more than it wrote.
  return given === undefined || given > announced ? announced : given
}

function givenBytes(times: RequestTimes, request: IncomingMessage, response: NodeResponse): number | undefined {
  const { byteCount: before } = times
  // The count never began. If the response never got a socket either, nothing was sent.
  if (before === -1) return response.writableFinished || response.socket !== null ? undefined : 0
  const { _header: head, _headerSent: headSent } = response
  if (headSent === false) return 0
  const socket = request.socket as Socket & { _httpMessage?: object | null }
  // The next pipelined response already has the socket, and may have written.
  if (socket._httpMessage != null && socket._httpMessage !== response) return undefined
  // A head with other characters than ASCII is sent in the encoding of the data that follows it.
  if (typeof head !== 'string' || Buffer.byteLength(head) !== head.length) return undefined
  const given = socket.bytesWritten - before - head.length
  return Number.isNaN(given) ? undefined : Math.max(0, given)
}

function countGiven(times: RequestTimes, response: ServerResponse | StreamResponse, method: 'write' | 'end'): void {
  const methods = response as unknown as Record<typeof method, (...given: unknown[]) => unknown>
  const give = methods[method]
  methods[method] = function (this: ServerResponse, ...given) {
    if (!this.writableEnded && !this.destroyed) times.byteCount += sizeOf(given[0], given[1])
    return give.apply(this, given)
  }
}

/** Node's HTTP/2 sends no body with these. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])
