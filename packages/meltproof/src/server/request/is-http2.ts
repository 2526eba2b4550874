/** HTTP/2, by what carries the request: Node's parser of HTTP/1 takes `GET / HTTP/2.0` too, and says version 2 of it. */
import type { IncomingMessage } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'

export function isHttp2(request: IncomingMessage): request is IncomingMessage & { readonly stream: ServerHttp2Stream } {
  return 'stream' in request
}
