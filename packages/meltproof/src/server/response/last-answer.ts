/** The last answer of a connection (RFC 9112 section 9.6): how the head says so, and how the connection closes. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clearTimeout, setTimeout } from 'node:timers'
import { CONNECTION, type HttpSocket } from '../connection/http-socket.ts'
import { describeHead } from '../request/request-head.ts'
import { beforeHead, fieldNames, type Head, isField } from './before-head.ts'

/** Node's flag for `maxRequestsPerSocket`: the head says `Connection: close`, and Node lets the client close. */
type Response = ServerResponse & { maxRequestsOnConnectionReached?: boolean }

/** How long data that the client still sends is read and discarded, ms: closing a socket with unread data resets it. */
const LINGER_MS = 2000

/** Ends a connection whose last answer has been written. @param complete whether its whole request has arrived */
export function endConnection(socket: HttpSocket, complete: boolean): void {
  takeNoMore(socket)
  socket.end?.()
  if (complete) return void socket.destroySoon?.()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.on('close', () => clearTimeout(timer))
}

/** Ends a connection after an answer that Node writes and that has not begun. HTTP/1 only. */
export function endAfter(request: IncomingMessage, response: Response): void {
  const { socket } = request
  takeNoMore(socket)
  // With these two settings Node does not close the connection at once: that would reset a client that still sends.
  response.shouldKeepAlive = true
  response.maxRequestsOnConnectionReached = true
  response.on('finish', () => endConnection(socket, request.complete))
}

/** Marks an answer of the app as the last one if `isLast` returns true when its head is sent. */
export function makeLast(request: IncomingMessage, response: ServerResponse, isLast: () => boolean): void {
  beforeHead(response, head => (isLast() ? sayClose(request, response, head) : head))
}

function sayClose(request: IncomingMessage, response: Response, head: Head): Head {
  const uploading = !request.complete && describeHead(request.rawHeaders).bodyBytes > 0
  const fields: unknown = head.length > 1 ? head.at(-1) : undefined
  const isConnection = (name: unknown): boolean => isField(name, 'connection')
  const names = fieldNames(fields)
  const named = names.some(isConnection)
  const set = response.hasHeader('connection')
  if (uploading) {
    // Closing would reset a client that is still sending. If the app sets a Connection field, the flag has no effect.
    if (named || set) return head
    response.maxRequestsOnConnectionReached = true
  } else {
    response.shouldKeepAlive = false
    if (set) response.setHeader('connection', 'close')
  }
  takeNoMore(request.socket)
  if (!named) return head
  const others = Array.isArray(fields)
    ? fields.filter((_, index) => !isConnection(names[index]))
    : Object.fromEntries(Object.entries(fields as object).filter(([name]) => !isConnection(name)))
  return [...head.slice(0, -1), others] as unknown as Head
}

/** Data that arrives at this socket from now on is not a request. */
function takeNoMore(socket: HttpSocket): void {
  const connection = socket[CONNECTION]
  if (connection !== undefined) connection.closing = true
}
