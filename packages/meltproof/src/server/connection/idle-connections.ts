/**
 * Closes connections that are idle while the server drains: those on which no byte has come or gone for some time, and
 * (Node tells) no request has begun. A request sent in that very moment is lost; HTTP/1.1 can not exclude it (RFC 9112
 * section 9.6).
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

  constructor(server: Server, connections: Iterable<Connection>, activeAtMs: number) {
    this.#server = server
    this.#connections = connections
    this.look(activeAtMs)
  }

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
