/** What node:http adds to its sockets and keeps in its parsers, as far as we rely on it. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

export interface AskedAtHead {
  /** Its last answer closed it: whatever else arrives is not a request (RFC 9112 section 9.6). */
  closing: boolean
  /** Asked about a GET of HTTP/1.1 that is no upgrade; true when it has been answered. */
  refuseAtHead(rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean
}

/** On a socket, because a parser outlives its connections, and with short ones a WeakMap costs as much as all the rest. */
export const ASKED_AT_HEAD: unique symbol = Symbol('meltproof.connection')
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
  [ASKED_AT_HEAD]?: AskedAtHead
  parser?: Parser | null
  _httpMessage?: object | null
  _paused?: boolean
  _handle?: { reading?: boolean; readStart?: () => number } | null
}

/** Takes the rest of a request that nobody will read. With null, chunked trailers would become the next request's headers. */
export const NOBODY = {
  complete: true,
  upgrade: false,
  method: '',
  _dumped: true,
  push: () => true,
  _addHeaderLines: () => undefined,
  emit: () => false,
} as unknown as IncomingMessage

/** Node forgets to read on when it gives a socket that it does not read to an upgrade: it would stay open for ever. */
export function readOn({ _handle: handle }: HttpSocket): void {
  if (typeof handle?.readStart !== 'function') return
  handle.reading = true
  handle.readStart()
}

/** Stands for a response. Node, and libraries that shut servers down, take a socket that has one for busy. */
const STAND_IN: object = { finished: false, headersSent: true, emit: () => false }

/** A request of this socket waits. */
export function lookBusy(socket: HttpSocket): void {
  socket._httpMessage ??= STAND_IN
}

/** Before the request is handed on: Node gives the socket its response then. */
export function lookIdle(socket: HttpSocket): void {
  if (socket._httpMessage === STAND_IN) socket._httpMessage = null
}

/** While `act` runs, Node's ways to close idle connections leave these alone. */
export function sparing(connections: Iterable<{ readonly socket: HttpSocket }>, act: () => void): void {
  const marked: HttpSocket[] = []
  for (const { socket } of connections) {
    if (socket._httpMessage != null) continue
    lookBusy(socket)
    marked.push(socket)
  }
  try {
    act()
  } finally {
    for (const socket of marked) lookIdle(socket)
  }
}

/**
 * stoppable, and terminus with it, count 'request' events and end each socket that has none under way: at `close()`, and
 * when an answer is finished. None of these is ended while it has a request in line.
 */
export function outliveClose(connections: Iterable<{ readonly socket: HttpSocket; readonly hasLine: boolean }>): void {
  for (const connection of connections) {
    const { socket } = connection
    const end = socket.end as (...args: unknown[]) => Socket
    socket.end = (...args: unknown[]) => (args.length === 0 && connection.hasLine ? socket : end.apply(socket, args))
  }
}
