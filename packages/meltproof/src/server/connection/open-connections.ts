/** The HTTP/1 connections that are open: a list through themselves, not a Set, for the reason given in in-service.ts. */
import type { Connection, ConnectionRequest } from './connection.ts'

export class OpenConnections<R extends ConnectionRequest> {
  #first: Connection<R> | undefined
  #last: Connection<R> | undefined

  add(connection: Connection<R>): void {
    connection.openedBefore = this.#last
    if (this.#last === undefined) this.#first = connection
    else this.#last.openedAfter = connection
    this.#last = connection
  }

  delete(connection: Connection<R>): void {
    const { openedBefore: before, openedAfter: after } = connection
    if (before === undefined && this.#first !== connection) return
    if (before === undefined) this.#first = after
    else before.openedAfter = after
    if (after === undefined) this.#last = before
    else after.openedBefore = before
    connection.openedBefore = undefined
    connection.openedAfter = undefined
  }

  *[Symbol.iterator](): Generator<Connection<R>> {
    for (let at = this.#first; at !== undefined; ) {
      // The one at hand may leave meanwhile.
      const next = at.openedAfter
      yield at
      at = next
    }
  }
}
