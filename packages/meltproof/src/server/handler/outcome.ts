/** Decides, when a response closes, whether its handler has ended or still works although the client has left. */
import type { Connection } from '../connection/connection.ts'
import type { Exchange } from '../request/exchange.ts'
import { streamOf } from '../request/is-http2.ts'
import { isCutByApp } from '../request/stream-request.ts'
import { StreamResponse } from '../response/stream-response.ts'

/**
 * Returns true if the handler has ended the response, thrown, or closed the connection. Only the app's own actions
 * count: a client can make Node close a response at any time, with invalid data, with a slow body, or by leaving.
 * @param pipelined whether the response still waited for an earlier response on its connection
 */
export function handlerHasEnded(
  { request, response, threw }: Exchange,
  connection: Connection<Exchange> | undefined,
  pipelined: boolean,
): boolean {
  if (response === undefined || response.writableEnded || threw) return true
  // When a connection closes, Node destroys responses whose turn had not come; only the app destroys others.
  if (!pipelined && response.errored != null) return true
  const stream = streamOf(response)
  if (stream !== undefined) {
    // The app has destroyed the stream, or has answered on the stream directly.
    return isCutByApp(stream) || (!(response instanceof StreamResponse) && stream.writableEnded && !stream.aborted)
  }
  // The app has detached the socket from Node (`detachSocket`).
  if (!pipelined && response.socket === null) return true
  return connection !== undefined && isClosedByApp(connection, request)
}

/** True if neither the client nor an error ended the connection, except the error of the app's own `destroy()`. */
function isClosedByApp({ cut, socket }: Connection<Exchange>, request: Exchange['request']): boolean {
  if (cut || socket.readableEnded) return false
  return socket.errored == null || socket.errored === request.errored
}
