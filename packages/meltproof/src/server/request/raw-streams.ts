/** Which streams of an HTTP/2 server its app takes raw. Of the others Node makes requests, which come by themselves. */
import type { Server } from 'node:http'
import type { StreamEvent } from './stream-request.ts'

/** `args` are those of a 'stream' event. Apps emit these themselves, with any arguments. */
export function isRawStream(server: Server, args: unknown[]): args is [...StreamEvent] {
  try {
    const [stream, headers] = args as [...StreamEvent]
    // With a listener for requests, Node itself listens for streams.
    const nodesOwn = server.listenerCount('request') > 0 ? 1 : 0
    if (server.listenerCount('stream') <= nodesOwn) return false
    if (typeof stream.respond !== 'function' || stream.destroyed || stream.session?.destroyed !== false) return false
    // A tunnel is no request; nor does the gate see those of HTTP/1.
    return headers[':method'] !== 'CONNECT'
  } catch {
    return false
  }
}
