/** Recognises HTTP/2 by its stream: Node's HTTP/1 parser also accepts `GET / HTTP/2.0` and reports version 2. */
import type { IncomingMessage } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'

export function isHttp2(request: IncomingMessage): request is IncomingMessage & { readonly stream: ServerHttp2Stream } {
  return 'stream' in request
}
