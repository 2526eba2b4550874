/** Recognises the streams of an HTTP/2 server that the app handles raw. Node turns the other streams into requests. */
import type { Server } from 'node:http'
import type { StreamEvent } from './stream-request.ts'

/** `args` are those of a 'stream' event. Apps may emit the event themselves, with any arguments. */
export function isRawStream(server: Server, args: unknown[]): args is [...StreamEvent] {
  try {
    const [stream, headers] = args as [...StreamEvent]
    // If the app listens for requests, Node itself adds a listener for streams.
    const nodesOwn = server.listenerCount('request') > 0 ? 1 : 0
    if (server.listenerCount('stream') <= nodesOwn) return false
    if (typeof stream.respond !== 'function' || stream.destroyed || stream.session?.destroyed !== false) return false
    // A CONNECT tunnel is not a request; the gate does not see those of HTTP/1 either.
    return headers[':method'] !== 'CONNECT'
  } catch {
    return false
  }
}
