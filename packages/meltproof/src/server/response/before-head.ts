import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

export type Head = Parameters<ServerResponse['writeHead']>

/** Has `change` see, and change, what the head of an answer says in the moment in which it goes out. */
export function beforeHead(response: ServerResponse, change: (head: Head) => Head): void {
  const { writeHead } = response
  const changeThenWrite = function (this: ServerResponse, ...head: Head): ServerResponse {
    let changed = head
    try {
      if (!this.headersSent) changed = change(head)
    } catch {
      // Then it says what it would have said: better than no answer.
    }
    return writeHead.apply(this, changed)
  }
  response.writeHead = changeThenWrite as typeof writeHead
}

/**
 * Adds a field to a head. To set one on the response would change how Node reads what the app gives `writeHead()`: a list of
 * pairs is an error then, and fields of one name change places.
 */
export function addToHead(response: ServerResponse, head: Head, name: string, value: string): Head {
  const at = head.findLastIndex(part => typeof part === 'object' && part !== null)
  if (at === -1 || response.getHeaderNames().length > 0) {
    response.appendHeader(name, value)
    return head
  }
  return head.with(at, withField(head[at] as OutgoingHttpHeaders, name, value)) as Head
}

/** A copy: an app may use one object for all of its answers. What the app says itself stays. */
export function withField<F extends object | undefined>(fields: F, name: string, value: string): F {
  if (namesField(fields, name)) return fields
  if (!Array.isArray(fields)) return { ...fields, [name]: value } as F
  const more = Array.isArray(fields[0]) ? [[name, value]] : [name, value]
  return Object.assign([...fields, ...more], bySymbol(fields)) as unknown as F
}

function namesField(fields: unknown, wanted: string): boolean {
  return fieldNames(fields).some(name => typeof name === 'string' && name.toLowerCase() === wanted)
}

/** The name of each entry: of an object, of a list of pairs, or of name, value, name, value, ... */
export function fieldNames(fields: unknown): readonly unknown[] {
  if (Array.isArray(fields)) return fields.map((entry, i) => (Array.isArray(entry) ? entry[0] : fields[i - (i % 2)]))
  return typeof fields === 'object' && fields !== null ? Object.keys(fields) : []
}

/** HTTP/2 has there which fields must not be indexed. */
function bySymbol(list: readonly unknown[]): object {
  return Object.fromEntries(Object.getOwnPropertySymbols(list).map(symbol => [symbol, list[symbol as never]]))
}
