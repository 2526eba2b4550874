/**
 * Recognises HTTP/2 by its stream, because Node's HTTP/1 parser accepts `GET / HTTP/2.0` too and reports version 2. The
 * class is checked as well, because an app may set a property `stream` on its HTTP/1 requests and responses.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'

export function isHttp2(request: IncomingMessage): request is IncomingMessage & { readonly stream: ServerHttp2Stream } {
  return request.httpVersionMajor === 2 && 'stream' in request && !(request instanceof IncomingMessage)
}

export function streamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  return response instanceof ServerResponse ? undefined : (response as { stream?: ServerHttp2Stream }).stream
}
