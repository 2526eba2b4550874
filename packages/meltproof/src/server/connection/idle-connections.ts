/**
 * Closes connections that are idle while the server drains, and none that a request may be on its way on: only those on
 * which no byte has come or gone for some time, and (Node tells) no request has begun.
 *
 * A request that is sent in the very moment in which its connection is closed is lost all the same; HTTP/1.1 has no way
 * to exclude that (RFC 9112 section 9.6). How long a connection has been idle only makes it unlikely.
 */
import type { Server } from 'node:http'
import type { Connection } from './connection.ts'
import { sparing } from './http-socket.ts'

interface Seen {
  bytes: number
  idleSinceMs: number
}

export class IdleConnections {
  readonly #server: Server
  readonly #connections: Iterable<Connection>
  readonly #seen = new WeakMap<Connection, Seen>()

  /** @param activeAtMs when any of them last had something to do, as far as that is known */
  constructor(server: Server, connections: Iterable<Connection>, activeAtMs: number) {
    this.#server = server
    this.#connections = connections
    this.look(activeAtMs)
  }

  /** Notes on which of them something came or went since the last look. */
  look(nowMs: number): void {
    for (const connection of this.#connections) {
      const { bytesRead, bytesWritten } = connection.socket
      const bytes = bytesRead + bytesWritten
      const seen = this.#seen.get(connection)
      if (seen === undefined) this.#seen.set(connection, { bytes, idleSinceMs: nowMs })
      else if (seen.bytes !== bytes) {
        seen.bytes = bytes
        seen.idleSinceMs = nowMs
      }
    }
  }

  /** Closes those that are idle since `sinceMs` or longer. */
  close(sinceMs: number): void {
    const spared: Connection[] = []
    for (const connection of this.#connections) {
      if (!((this.#seen.get(connection)?.idleSinceMs ?? Number.POSITIVE_INFINITY) <= sinceMs)) spared.push(connection)
      // Opened beforehand, by a browser say, and never used. Node does not call it idle.
      else if (connection.socket.bytesRead === 0) connection.socket.destroy()
    }
    sparing(spared, () => this.#server.closeIdleConnections?.())
  }
}
