/** What node:http adds to its sockets and keeps in its parsers, as far as we rely on it. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** Is asked about the heads that a parser reports for a socket. */
export interface AskedAtHead {
  /** Its last answer says so: whatever else arrives is not a request to us (RFC 9112 section 9.6). */
  closing: boolean
  /** Asked about a GET of HTTP/1.1 that is no upgrade; true when it has been answered. */
  refuseAtHead(rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean
}

/**
 * On a socket: whom to ask. A parser, which outlives its connections, must not hold on to one; and with short connections
 * a WeakMap would cost as much as all the rest.
 */
export const ASKED_AT_HEAD: unique symbol = Symbol('meltproof.connection')
/** On a parser: its callback for heads is wrapped. */
export const WRAPPED: unique symbol = Symbol('meltproof.wrapped')

/** Returns 0, or 2 for an upgrade. */
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
  /** The response that currently writes to this socket. */
  _httpMessage?: object | null
  _paused?: boolean
  _handle?: { reading?: boolean; readStart?: () => number } | null
}

/**
 * Where Node's parser puts the rest of a request that nobody will read. Nulling `parser.incoming` instead would leave
 * chunked trailers in the parser's buffer, and they would become headers of the connection's next request.
 */
export const NOBODY = {
  complete: true,
  upgrade: false,
  method: '',
  _dumped: true,
  push: () => true,
  _addHeaderLines: () => undefined,
  emit: () => false,
} as unknown as IncomingMessage

/**
 * Node stops reading a socket whose client gets ahead of its answers, or whose body nobody reads. It forgets to read on
 * when it gives the socket to an upgrade: the socket would stay open and unread for ever.
 */
export function readOn({ _handle: handle }: HttpSocket): void {
  if (typeof handle?.readStart !== 'function') return
  handle.reading = true
  handle.readStart()
}

/** Stands in `socket._httpMessage` for a moment: Node takes an answer to be under way. */
const STAND_IN: object = { finished: false }

/** While `act` runs, Node's ways to close idle connections leave these alone: one with a response is not idle. */
export function sparing(connections: Iterable<{ readonly socket: HttpSocket }>, act: () => void): void {
  const marked: HttpSocket[] = []
  for (const { socket } of connections) {
    if (socket._httpMessage != null) continue
    socket._httpMessage = STAND_IN
    marked.push(socket)
  }
  try {
    act()
  } finally {
    for (const socket of marked) if (socket._httpMessage === STAND_IN) socket._httpMessage = null
  }
}
