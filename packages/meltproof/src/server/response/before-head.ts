import type { ServerResponse } from 'node:http'

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

/** The name of each entry: of an object, of a list of pairs, or of name, value, name, value, ... */
export function fieldNames(fields: unknown): readonly unknown[] {
  if (Array.isArray(fields)) return fields.map((entry, i) => (Array.isArray(entry) ? entry[0] : fields[i - (i % 2)]))
  return typeof fields === 'object' && fields !== null ? Object.keys(fields) : []
}
