/** The members of node:http's sockets and parsers that meltproof relies on. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

export interface HeadConnection {
  /** True once the connection's last answer has begun: later data is not a request (RFC 9112 section 9.6). */
  closing: boolean
  /** `refuse` is called for each GET of HTTP/1.1 that is not an upgrade, and returns true when it has answered. */
  readonly path: { refuse(on: HeadConnection, rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean }
}

/** Set on the socket, which parsers outlive. With short connections a WeakMap would double the cost of meltproof. */
export const CONNECTION: unique symbol = Symbol('meltproof.connection')
export const WRAPPED: unique symbol = Symbol('meltproof.wrapped')

export type OnIncoming = (request: IncomingMessage, keepAlive: boolean) => number

export interface Parser {
  onIncoming: OnIncoming | null
  incoming: IncomingMessage | null
  socket?: HttpSocket | null
  resume?: () => void
  [WRAPPED]?: true
  [callback: number]: ((...args: never[]) => unknown) | null
}

export interface HttpSocket extends Socket {
  [CONNECTION]?: HeadConnection
  parser?: Parser | null
  _httpMessage?: object | null
  _paused?: boolean
  _handle?: { reading?: boolean; readStart?: () => number } | null
  /** http-shutdown's mark of a socket that it may destroy. */
  _isIdle?: boolean
}

/** Receives the rest of a shed request. With null instead, Node would treat trailers as headers of the next request. */
export const DISCARDED_REQUEST = {
  complete: true,
  upgrade: false,
  method: '',
  _dumped: true,
  push: () => true,
  _addHeaderLines: () => undefined,
  emit: () => false,
} as unknown as IncomingMessage

/** Node does not resume a paused socket that it passes to an upgrade; the socket would stay open for ever. */
export function startReading({ _handle: handle }: HttpSocket): void {
  if (typeof handle?.readStart !== 'function') return
  handle.reading = true
  handle.readStart()
}

/** Stands for a response. Node, and libraries that shut servers down, treat a socket that has one as busy. */
const STAND_IN: object = {
  finished: false,
  headersSent: true,
  emit: () => false,
  /** Node calls this when the app sends the socket to another process. */
  detachSocket: (socket: HttpSocket): void => markIdle(socket),
}

export function markBusy(socket: HttpSocket): void {
  socket._httpMessage ??= STAND_IN
}

/** Must be called before the request is handed to Node, because Node then gives the socket a response. */
export function markIdle(socket: HttpSocket): void {
  if (socket._httpMessage === STAND_IN) socket._httpMessage = null
}

/** While `act` runs, Node's methods that close idle connections skip these connections. */
export function keepOpenDuring(connections: Iterable<{ readonly socket: HttpSocket }>, act: () => void): void {
  const idle = Array.from(connections, ({ socket }) => socket).filter(socket => socket._httpMessage == null)
  for (const socket of idle) markBusy(socket)
  try {
    act()
  } finally {
    for (const socket of idle) markIdle(socket)
  }
}

/** Connections that Node treats as idle although one of their requests waits. */
export type Busy = Iterable<{ readonly socket: HttpSocket; readonly hasQueue: boolean }>

/** Connections for which {@link surviveShutdownLibraries} has replaced the `end()` of their socket. */
const LASTING = new WeakSet<object>()

/**
 * stoppable, and terminus which uses it, count 'request' events. At `close()`, and whenever an answer is finished, they
 * end each socket without an open request. http-shutdown marks sockets as idle until 'request', and destroys them at
 * `close()`. This function keeps connections open that have a waiting request or a delayed 503.
 */
export function surviveShutdownLibraries(connections: Busy): void {
  for (const connection of connections) {
    const { socket } = connection
    if (socket._isIdle === true) socket._isIdle = false
    if (LASTING.has(connection)) continue
    LASTING.add(connection)
    const end = socket.end as (...args: unknown[]) => Socket
    socket.end = (...args: unknown[]) => (args.length === 0 && connection.hasQueue ? socket : end.apply(socket, args))
  }
}
