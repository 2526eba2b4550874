/**
 * The earliest place at which a request can be turned away: where Node's parser reports a complete head, before an
 * IncomingMessage (a stream) is made of it. Under a standing queue most requests end here, for about half of what they
 * cost one step later. llhttp has parsed the head; nothing here reads bytes.
 *
 * Node keeps this callback under an index of its parser objects, which it pools; so each parser is wrapped once, and the
 * wrapper looks whether the socket that the parser serves at this moment is one of ours. The callback is known by its name: a
 * Node that calls it otherwise is left alone, and requests are seen one step later.
 */
import type { IncomingMessage } from 'node:http'
import type { HttpSocket } from './connection.ts'

/** Who is asked about the heads that a parser reports for a socket. */
export interface AskedAtHead {
  /** Asked about a plain GET without a body to be expected of it; true when it has been answered. */
  refuseAtHead(rawHeaders: readonly string[], url: string, keepAlive: boolean): boolean
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

/** On a parser: it is wrapped. */
const WRAPPED: unique symbol = Symbol('meltproof.wrapped')
/**
 * On a socket: whom to ask. A parser, which outlives its connections, must not hold on to one; and with short connections
 * a WeakMap would cost as much as all the rest.
 */
export const ASKED_AT_HEAD: unique symbol = Symbol('meltproof.connection')

/** Node's parser as far as we rely on it. */
export interface Parser {
  onIncoming: ((request: IncomingMessage, keepAlive: boolean) => number) | null
  incoming: IncomingMessage | null
  socket?: HttpSocket | null
  resume?: () => void
  [WRAPPED]?: true
  [callback: number]: ((...args: never[]) => unknown) | null
}

type OnHeadersComplete = (
  this: Parser,
  major: number,
  minor: number,
  headers: string[] | undefined,
  method: number,
  url: string,
  statusCode: number | undefined,
  statusMessage: string | undefined,
  upgrade: boolean,
  keepAlive: boolean,
) => number

const NAME = 'parserOnHeadersComplete'
const wrappers = new WeakMap<OnHeadersComplete, OnHeadersComplete>()

/** Has `parser` ask whoever is at its socket ({@link ASKED_AT_HEAD}). False when this Node has no such place. */
export function standAtHead(parser: Parser): boolean {
  if (parser[WRAPPED] === true) return true
  for (let index = 0; index < 8; index++) {
    const callback = parser[index]
    if (typeof callback !== 'function' || callback.name !== NAME) continue
    parser[index] = wrapperOf(callback as OnHeadersComplete)
    parser[WRAPPED] = true
    return true
  }
  return false
}

function wrapperOf(original: OnHeadersComplete): OnHeadersComplete {
  const known = wrappers.get(original)
  if (known !== undefined) return known
  /** llhttp's number for GET, learned from what Node made of it. */
  let get = -1
  const wrapper: OnHeadersComplete = function (
    this: Parser,
    major,
    minor,
    headers,
    method,
    url,
    statusCode,
    statusMessage,
    upgrade,
    keepAlive,
  ) {
    const asked = this.socket?.[ASKED_AT_HEAD]
    if (
      asked !== undefined &&
      method === get &&
      minor === 1 &&
      major === 1 &&
      !upgrade &&
      // Missing when there were so many that Node got them in parts.
      headers !== undefined &&
      asked.refuseAtHead(headers, url, keepAlive)
    ) {
      this.incoming = NOBODY
      return 0
    }
    const result = original.call(
      this,
      major,
      minor,
      headers,
      method,
      url,
      statusCode,
      statusMessage,
      upgrade,
      keepAlive,
    )
    if (get === -1 && this.incoming?.method === 'GET') get = method
    return result
  }
  wrappers.set(original, wrapper)
  return wrapper
}
