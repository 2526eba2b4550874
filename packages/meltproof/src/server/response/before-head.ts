import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

export type Head = Parameters<ServerResponse['writeHead']>

/** Lets `change` read and modify the head of an answer at the moment when it is sent. */
export function beforeHead(response: ServerResponse, change: (head: Head) => Head): void {
  const { writeHead } = response
  response.writeHead = function (this: ServerResponse, ...head: Head): ServerResponse {
    let changed = head
    try {
      if (!this.headersSent) changed = change(head)
    } catch {
      // On failure the head is sent unchanged, which is better than no answer.
    }
    return writeHead.apply(this, changed)
  } as typeof writeHead
}

/**
 * Adds a field to a head. Setting it on the response would change how Node treats the arguments of `writeHead()`: a
 * list of pairs becomes an error, and fields with the same name change places.
 */
export function addToHead(response: ServerResponse, head: Head, name: string, value: string): Head {
  const at = head.findLastIndex(part => typeof part === 'object' && part !== null)
  if (at === -1 || response.getHeaderNames().length > 0) {
    response.appendHeader(name, value)
    return head
  }
  return head.with(at, withField(head[at] as OutgoingHttpHeaders, name, value)) as Head
}

/** Adds a field to a copy of `fields`: an app may use one object for all answers. A field set by the app stays. */
export function withField<F extends object | undefined>(fields: F, name: string, value: string): F {
  if (fieldNames(fields).some(given => isField(given, name))) return fields
  if (!Array.isArray(fields)) return { ...fields, [name]: value } as F
  const more = Array.isArray(fields[0]) ? [[name, value]] : [name, value]
  return Object.assign([...fields, ...more], bySymbol(fields)) as unknown as F
}

/** @param wanted in lower case */
export function isField(name: unknown, wanted: string): boolean {
  return typeof name === 'string' && name.toLowerCase() === wanted
}

/** The field name of each entry: of an object, of a list of pairs, or of a flat list of names and values. */
export function fieldNames(fields: unknown): readonly unknown[] {
  if (Array.isArray(fields)) return fields.map((entry, i) => (Array.isArray(entry) ? entry[0] : fields[i - (i % 2)]))
  return typeof fields === 'object' && fields !== null ? Object.keys(fields) : []
}

/** A symbol property lists the fields that HTTP/2 must not index. */
function bySymbol(list: readonly unknown[]): object {
  return Object.fromEntries(Object.getOwnPropertySymbols(list).map(symbol => [symbol, list[symbol as never]]))
}
