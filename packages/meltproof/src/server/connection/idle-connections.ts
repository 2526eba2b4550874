/**
 * Closes connections that are idle while the server drains: on which no byte has come or gone for some time, and (Node
 * tells) no request has begun. One that is sent in that very moment is lost (RFC 9112 section 9.6). So none is closed while
 * it may still be used, unless nobody asks the server for anything.
 */
import type { Server } from 'node:http'
import type { Connection } from './connection.ts'
import { sparing } from './http-socket.ts'

/** Clients may use it for so long, as Node tells them by default (`Keep-Alive: timeout=5`), ms. */
const USED_WITHIN_MS = 5000
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
    this.#close(new Set(this.#idleSince(Number.MAX_VALUE)))
  }

  #toClose(nowMs: number, activeAtMs: number): Connection[] {
    const idleMs = nowMs - activeAtMs >= this.#quietMs ? this.#quietMs : USED_WITHIN_MS
    return this.#idleSince(nowMs - idleMs).filter(connection => !this.#seen.get(connection)!.wasTried)
  }

  #idleSince(sinceMs: number): Connection[] {
    const since = (connection: Connection): number =>
      this.#seen.get(connection)?.idleSinceMs ?? Number.POSITIVE_INFINITY
    return [...this.#connections].filter(connection => since(connection) <= sinceMs)
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
