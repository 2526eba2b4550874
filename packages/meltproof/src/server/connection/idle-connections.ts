/**
 * Closes connections that are idle while the server drains: on which no byte has come or gone for some time, and (Node
 * tells) no request has begun. A request that is sent in that very moment is lost (RFC 9112 section 9.6). So none is closed
 * while its client may still use it: for the `keepAliveTimeout` of the server, which Node tells it (`Keep-Alive: timeout=`).
 * A connection that has never carried a request was told nothing, and is closed as soon as nothing is asked of the server.
 */
import type { Server } from 'node:http'
import { type Connection, idleTimeoutMs } from './connection.ts'
import { sparing } from './http-socket.ts'

/** Browsers open connections beforehand. While requests come, one of them may be about to be used for the first time, ms. */
const UNUSED_MS = 5000
/** So many at once: closing takes a while, and what comes meanwhile on the last of them is lost. */
const AT_ONCE = 8
/** With very many connections more at once, so that it takes no more steps than these. */
const MOST_STEPS = 50

interface Seen {
  readonly bytes: number
  readonly idleSinceMs: number
  /** Node closes none that has a request. */
  wasTried: boolean
}

export class IdleConnections {
  readonly #server: Server
  readonly #connections: Iterable<Connection>
  readonly #quietMs: number
  readonly #seen = new WeakMap<Connection, Seen>()

  /** @param quietMs when nothing has come for so long, nobody asks */
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

  /** Whether there are some to be closed. @param activeAtMs when something came last */
  hasSome(nowMs: number, activeAtMs: number): boolean {
    return this.#toClose(nowMs, activeAtMs).length > 0
  }

  /** Closes some, and says whether there are more. */
  closeSome(nowMs: number, activeAtMs: number): boolean {
    const idle = this.#toClose(nowMs, activeAtMs)
    const some = idle.slice(0, Math.max(AT_ONCE, Math.ceil(idle.length / MOST_STEPS)))
    for (const connection of some) this.#seen.get(connection)!.wasTried = true
    this.#close(new Set(some))
    return some.length < idle.length
  }

  closeAll(): void {
    this.#close(new Set(this.#connections))
  }

  #toClose(nowMs: number, activeAtMs: number): Connection[] {
    const unusedMs = nowMs - activeAtMs >= this.#quietMs ? this.#quietMs : UNUSED_MS
    // Without a limit the client may use it for ever.
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
      // Opened beforehand, by a browser say, and never used. Node does not call it idle.
      else if (connection.socket.bytesRead === 0) connection.socket.destroy()
    }
    sparing(spared, () => this.#server.closeIdleConnections?.())
  }
}
