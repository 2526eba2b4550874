/**
 * Has an answer say that it is the last one of its connection (RFC 9112 section 9.6), where nobody has decided otherwise
 * before its head goes out. Knows Node's response; knows nothing of doors or draining.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeHead } from '../request/request-head.ts'

type Head = Parameters<ServerResponse['writeHead']>
/** Node's, for `maxRequestsPerSocket`: the head says close, and who closes is the client. */
type Response = ServerResponse & { maxRequestsOnConnectionReached?: boolean }

/**
 * @param isLast asked when the head goes out: false while other requests of the connection still have to be answered
 * @param onSaid called when the head says so: what the client still sends on this connection is no request any more
 */
export function makeLast(
  request: IncomingMessage,
  response: ServerResponse,
  isLast: () => boolean,
  onSaid: () => void,
): void {
  const { writeHead } = response
  const sayThenWrite = function (this: ServerResponse, ...head: Head): ServerResponse {
    let told = head
    try {
      if (!this.headersSent && isLast()) told = sayClose(request, this, head, onSaid)
    } catch {
      // Then it says what it would have said: better than no answer.
    }
    return writeHead.apply(this, told)
  }
  response.writeHead = sayThenWrite as typeof writeHead
}

function sayClose(request: IncomingMessage, response: Response, head: Head, onSaid: () => void): Head {
  const uploading = !request.complete && describeHead(request.rawHeaders).bodyBytes > 0
  // What the app says itself wins over the mark below, and saying close in its place would close at once.
  if (uploading && namesConnection(response, head)) return head
  // After `shouldKeepAlive = false` Node closes as soon as the answer is written. A client that still sends its body
  // would be reset, and might lose the answer.
  if (uploading) response.maxRequestsOnConnectionReached = true
  else response.shouldKeepAlive = false
  onSaid()
  if (uploading) return head
  // What the app says itself (proxies copy the field) wins over the above.
  const own = response.getHeader('connection')
  if (own !== undefined) response.setHeader('connection', withClose(own))
  const last = head.length - 1
  const fields: unknown = head[last]
  if (last === 0 || typeof fields !== 'object' || fields === null) return head
  const changed = Array.isArray(fields) ? closeInList(fields) : closeInObject(fields)
  return [...head.slice(0, last), changed] as unknown as Head
}

function namesConnection(response: Response, head: Head): boolean {
  const fields: unknown = head.length > 1 ? head.at(-1) : undefined
  if (response.hasHeader('connection')) return true
  if (Array.isArray(fields))
    return fields.some((entry, i) => isConnection(Array.isArray(entry) ? entry[0] : i % 2 === 0 && entry))
  return typeof fields === 'object' && fields !== null && Object.keys(fields).some(isConnection)
}

function closeInObject(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, isConnection(name) ? withClose(value) : value]),
  )
}

/** Name, value, name, value, ..., or pairs of them. */
function closeInList(list: readonly unknown[]): unknown[] {
  return list.map((entry, index) => {
    if (Array.isArray(entry)) return isConnection(entry[0]) ? [entry[0], withClose(entry[1])] : entry
    return index % 2 === 1 && isConnection(list[index - 1]) ? withClose(entry) : entry
  })
}

function isConnection(name: unknown): boolean {
  return typeof name === 'string' && name.toLowerCase() === 'connection'
}

/** `keep-alive` becomes `close`; what else it names (`upgrade`) stays. */
function withClose(value: unknown): string {
  const named = String(value)
    .split(',')
    .map(option => option.trim())
    .filter(option => option !== '' && !/^(?:keep-alive|close)$/i.test(option))
  return [...named, 'close'].join(', ')
}
