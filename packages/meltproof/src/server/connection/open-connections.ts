/**
 * The HTTP/1 connections that are open, for the day the server drains: a list through the connections themselves, O(1)
 * each way. Not a Set, for the reason given in in-service.ts: with a new connection per request it would be added to
 * and deleted from as often as there are requests.
 */
import type { Connection } from './connection.ts'

export class OpenConnections {
  #first: Connection | undefined
  #last: Connection | undefined

  add(connection: Connection): void {
    connection.openedBefore = this.#last
    if (this.#last === undefined) this.#first = connection
    else this.#last.openedAfter = connection
    this.#last = connection
  }

  /** One that is not in it, because it was upgraded before it closed, is none the worse. */
  delete(connection: Connection): void {
    const { openedBefore: before, openedAfter: after } = connection
    if (before === undefined && this.#first !== connection) return
    if (before === undefined) this.#first = after
    else before.openedAfter = after
    if (after === undefined) this.#last = before
    else after.openedBefore = before
    connection.openedBefore = undefined
    connection.openedAfter = undefined
  }

  *[Symbol.iterator](): Generator<Connection> {
    for (let at = this.#first; at !== undefined; ) {
      // The one at hand may leave meanwhile.
      const next = at.openedAfter
      yield at
      at = next
    }
  }
}
