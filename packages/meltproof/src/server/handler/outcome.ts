/** What the closing of a response says about its handler: whether that has ended, or works on for nobody. */
import type { ServerResponse } from 'node:http'
import type { Connection } from '../connection/connection.ts'
import { waitsForBody } from '../permit/streaming-responses.ts'
import type { Exchange } from '../request/exchange.ts'
import { StreamResponse } from '../response/stream-response.ts'

/**
 * The handler has ended the response, thrown, or closed the connection. A client that leaves sends the end of its stream
 * or an error; and a timeout of Node's is not the handler's doing.
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
  if (request.httpVersionMajor >= 2) return streamHasEnded(response) && !itsTimeIsUp(response)
  if (connection === undefined) return false
  const { socket, timedOut } = connection
  // An error of the connection itself names the system call; one that the app destroyed it with does not.
  const lost = (socket.errored as NodeJS.ErrnoException | null)?.syscall !== undefined
  return !timedOut && !socket.readableEnded && !lost
}

/** HTTP/2 handlers may answer on the stream, past the response. A client that cancels gives a code. */
function streamHasEnded(response: ServerResponse & { stream?: { readonly rstCode?: number } }): boolean {
  return response.headersSent && response.stream?.rstCode === 0
}

/** What its handler still does ends with the client: it streams to it, or reads a body that will not come. */
export function onlyServedItsClient({ request, response }: Exchange): boolean {
  if (response?.headersSent === true) return !itsTimeIsUp(response)
  return waitsForBody(request)
}

function itsTimeIsUp(response: object): boolean {
  return response instanceof StreamResponse && response.timedOut
}
