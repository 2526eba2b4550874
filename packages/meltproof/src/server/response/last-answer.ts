/** The last answer of a connection (RFC 9112 section 9.6): how it says so, and how the connection ends with it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ASKED_AT_HEAD, type HttpSocket } from '../connection/http-socket.ts'
import { describeHead } from '../request/request-head.ts'
import { beforeHead, fieldNames, type Head } from './before-head.ts'

/** Node's mark for `maxRequestsPerSocket`: the head says close, and the client closes. */
type Response = ServerResponse & { maxRequestsOnConnectionReached?: boolean }

/** What a client still sends is read and dropped for so long, ms: closing a socket with unread data resets it. */
const LINGER_MS = 2000

/** Ends a connection whose last answer has been written. @param complete whether all of its request has come */
export function endConnection(socket: HttpSocket, complete: boolean): void {
  takeNoMore(socket)
  socket.end?.()
  if (complete) return void socket.destroySoon?.()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.on('close', () => clearTimeout(timer))
}

/** The same with an answer that Node writes, which has not begun. HTTP/1 alone. */
export function endAfter(request: IncomingMessage, response: Response): void {
  const { socket } = request
  takeNoMore(socket)
  // So that the client closes; Node would at once.
  response.shouldKeepAlive = true
  response.maxRequestsOnConnectionReached = true
  response.on('finish', () => endConnection(socket, request.complete))
}

/** Has an answer of the app say that it is the last one, if `isLast` says so when its head goes out. */
export function makeLast(request: IncomingMessage, response: ServerResponse, isLast: () => boolean): void {
  beforeHead(response, head => (isLast() ? sayClose(request, response, head) : head))
}

function sayClose(request: IncomingMessage, response: Response, head: Head): Head {
  const uploading = !request.complete && describeHead(request.rawHeaders).bodyBytes > 0
  const fields: unknown = head.length > 1 ? head.at(-1) : undefined
  const names = fieldNames(fields)
  const named = names.some(isConnection)
  const set = response.hasHeader('connection')
  if (uploading) {
    // A client that still sends would be reset if Node closed. What the app says itself wins over the mark.
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

function isConnection(name: unknown): boolean {
  return typeof name === 'string' && name.toLowerCase() === 'connection'
}

/** Whatever else arrives at this socket is not a request to us. */
function takeNoMore(socket: HttpSocket): void {
  const connection = socket[ASKED_AT_HEAD]
  if (connection !== undefined) connection.closing = true
}
