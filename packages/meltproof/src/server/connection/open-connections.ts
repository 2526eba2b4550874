/** The HTTP/1 connections that are open: a list through themselves, not a Set, for the reason given in in-service.ts. */
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

  /** Does nothing for one that is not in it, because it was upgraded before it closed. */
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
