/**
 * How a connection ends with an answer that says so, while its client may still send. What comes is read and dropped for
 * a moment: closing a socket with unread data resets it, and the client would lose the answer (RFC 9112 section 9.6).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { takeNoMore } from './connection.ts'

/** What a client still sends is read and dropped for so long, ms. */
const LINGER_MS = 2000

/** Ends a connection whose last answer has been written. @param complete whether all of its request has come */
export function endConnection(socket: Socket, complete: boolean): void {
  takeNoMore(socket)
  // An app may have any stream for a socket.
  socket.end?.()
  if (complete) return void socket.destroySoon?.()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.on('close', () => clearTimeout(timer))
}

/** The same with an answer that Node writes, which has not begun. HTTP/1 alone. */
export function endAfter(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  takeNoMore(socket)
  // Otherwise Node says close as well, and closes at once; after this it leaves that to the client.
  response.shouldKeepAlive = true
  ;(response as { maxRequestsOnConnectionReached?: boolean }).maxRequestsOnConnectionReached = true
  response.on('finish', () => endConnection(socket, request.complete))
}
