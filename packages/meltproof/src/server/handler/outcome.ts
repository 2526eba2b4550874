/** What the closing of a response says about its handler: whether that has ended, or works on for no client. */
import type { ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Connection } from '../connection/connection.ts'
import type { Exchange } from '../request/exchange.ts'
import { isHttp2 } from '../request/is-http2.ts'
import { isCutByApp } from '../request/stream-request.ts'
import { StreamResponse } from '../response/stream-response.ts'

/**
 * The handler has ended the response, thrown, or closed the connection. Only what the app alone does counts: a client can
 * have Node close a response at any moment, with garbage, with too slow a body, or by leaving.
 * @param pipelined the response was in line behind another
 */
export function handlerHasEnded(
  { request, response, threw }: Exchange,
  connection: Connection<Exchange> | undefined,
  pipelined: boolean,
): boolean {
  if (response === undefined || response.writableEnded || threw) return true
  // Node destroys a response whose turn had not come when the connection closes; the app alone destroys others.
  if (!pipelined && response.errored != null) return true
  if (isHttp2(request)) return streamHasEnded(response as Http2Response)
  // The app has taken the connection from Node (`detachSocket`).
  if (!pipelined && response.socket === null) return true
  return connection !== undefined && isClosedByApp(connection, request)
}

/** Its client has sent no end, and its error, if there is one, is what the app destroyed the request with. */
function isClosedByApp({ cut, socket }: Connection<Exchange>, request: Exchange['request']): boolean {
  if (cut || socket.readableEnded) return false
  return socket.errored == null || socket.errored === request.errored
}

/** The app has destroyed the stream, or has given the answer on it, past the response. */
function streamHasEnded(response: Http2Response): boolean {
  const { stream } = response
  if (isCutByApp(stream)) return true
  return !(response instanceof StreamResponse) && stream.writableEnded && !stream.aborted
}

type Http2Response = ServerResponse & { readonly stream: ServerHttp2Stream }
