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
