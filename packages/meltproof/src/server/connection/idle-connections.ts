/**
 * Closes connections that are idle while the server drains: on which no byte has come or gone for some time, and (Node
 * tells) no request has begun. One that is sent in that very moment is lost (RFC 9112 section 9.6).
 */
import type { Server } from 'node:http'
import type { Connection } from './connection.ts'
import { sparing } from './http-socket.ts'

export class IdleConnections {
  readonly #server: Server
  readonly #connections: Iterable<Connection>
  readonly #seen = new WeakMap<Connection, { readonly bytes: number; readonly idleSinceMs: number }>()

  constructor(server: Server, connections: Iterable<Connection>, activeAtMs: number) {
    this.#server = server
    this.#connections = connections
    this.look(activeAtMs)
  }

  look(nowMs: number): void {
    for (const connection of this.#connections) {
      const bytes = connection.socket.bytesRead + connection.socket.bytesWritten
      if (this.#seen.get(connection)?.bytes !== bytes) this.#seen.set(connection, { bytes, idleSinceMs: nowMs })
    }
  }

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
