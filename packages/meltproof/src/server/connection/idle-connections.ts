/**
 * Closes idle connections while the server drains: those without a request, on which no byte has moved for some time. A
 * request that the client sends at that moment is lost (RFC 9112 section 9.6). So a connection stays open while its
 * client may use it: for the server's `keepAliveTimeout`, which Node sends (`Keep-Alive: timeout=`). A client without a
 * request so far does not know that time; its connection is closed after UNUSED_MS, or earlier if no requests arrive.
 */
import type { Server } from 'node:http'
import { type Connection, idleTimeoutMs } from './connection.ts'
import { keepOpenDuring } from './http-socket.ts'

/** How long an unused connection stays open while other requests arrive, ms: browsers open connections in advance. */
const UNUSED_MS = 5000
/** Connections closed in one step. Closing takes time, and a request that arrives during it may be lost. */
const AT_ONCE = 8
/** If more than AT_ONCE * MOST_STEPS connections are due, each step closes one in MOST_STEPS of them. */
const MOST_STEPS = 50

interface Seen {
  readonly bytes: number
  readonly idleSinceMs: number
  /** True once closeIdleConnections() was tried: Node keeps a connection that has a request. */
  wasTried: boolean
}

export class IdleConnections {
  readonly #server: Server
  readonly #connections: Iterable<Connection>
  readonly #quietMs: number
  readonly #seen = new WeakMap<Connection, Seen>()

  constructor(server: Server, connections: Iterable<Connection>, activeAtMs: number, quietMs: number) {
    this.#server = server
    this.#connections = connections
    this.#quietMs = quietMs
    this.look(activeAtMs)
  }

  look(nowMs: number): void {
    for (const connection of this.#connections) {
      const bytes = connection.socket.bytesRead + connection.socket.bytesWritten
      if (this.#seen.get(connection)?.bytes === bytes) continue
      this.#seen.set(connection, { bytes, idleSinceMs: nowMs, wasTried: false })
    }
  }

  /** Closes some connections. Returns whether more are due. */
  closeSome(nowMs: number, activeAtMs: number): boolean {
    const idle = this.due(nowMs, activeAtMs)
    const some = idle.slice(0, Math.max(AT_ONCE, Math.ceil(idle.length / MOST_STEPS)))
    for (const connection of some) this.#seen.get(connection)!.wasTried = true
    this.#close(new Set(some))
    return some.length < idle.length
  }

  closeAll(): void {
    this.#close(new Set(this.#connections))
  }

  /** The connections that are due to be closed. @param activeAtMs when the last request arrived */
  due(nowMs: number, activeAtMs: number): Connection[] {
    const unusedMs = nowMs - activeAtMs >= this.#quietMs ? this.#quietMs : UNUSED_MS
    // Without a timeout the client may use the connection at any time.
    const usedMs = idleTimeoutMs(this.#server) || Number.POSITIVE_INFINITY
    return [...this.#connections].filter(connection => {
      const seen = this.#seen.get(connection)
      if (seen === undefined || seen.wasTried) return false
      return nowMs - seen.idleSinceMs >= (connection.socket.bytesRead === 0 ? unusedMs : usedMs)
    })
  }

  #close(idle: ReadonlySet<Connection>): void {
    const spared: Connection[] = []
    for (const connection of this.#connections) {
      if (!idle.has(connection)) spared.push(connection)
      // A browser, for example, opened this connection in advance and never used it. Node does not count it as idle.
      else if (connection.socket.bytesRead === 0) connection.socket.destroy()
    }
    keepOpenDuring(spared, () => this.#server.closeIdleConnections?.())
  }
}
