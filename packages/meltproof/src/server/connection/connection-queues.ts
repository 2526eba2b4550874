/** Keeps pipelined requests in order: each waits behind a waiting request or a delayed answer, then asks the gate. */
import type { Server } from 'node:http'
import { setImmediate } from 'node:timers'
import { now } from '../../clock.ts'
import type { Connection, ConnectionRequest } from './connection.ts'
import { markBusy, markIdle } from './http-socket.ts'

/** With this many requests behind, the socket is paused; not earlier, because a paused socket hides a disconnect. */
const MOST_BEHIND = 16

export class ConnectionQueues<R extends ConnectionRequest> {
  readonly connections: Set<Connection<R>> = new Set()
  readonly #server: Server
  readonly #ask: (connection: Connection<R>, request: R) => void
  #moved: Connection<R>[] = []

  constructor(server: Server, ask: (connection: Connection<R>, request: R) => void) {
    this.#server = server
    this.#ask = ask
  }

  wait(connection: Connection<R>, request: R): void {
    connection.keepContext()
    connection.stopEveryIdleTimeout(this.#server)
    connection.waiting = request
    this.enter(connection)
  }

  enter(connection: Connection<R>): void {
    markBusy(connection.socket)
    this.connections.add(connection)
  }

  join(connection: Connection<R>, request: R): void {
    connection.keepContext()
    if (connection.behind.push(request) >= MOST_BEHIND) connection.pauseReading('line')
  }

  move(connection: Connection<R>): void {
    connection.waiting = undefined
    markIdle(connection.socket)
    if (connection.behind.length === 0) this.connections.delete(connection)
    // The call is deferred: the gate is deciding, and a thousand connections would nest a thousand calls.
    else if (this.#moved.push(connection) === 1) setImmediate(this.#moveAll)
  }

  takeAll(connection: Connection<R>): R[] {
    const { waiting, behind } = connection
    connection.waiting = undefined
    connection.behind = []
    markIdle(connection.socket)
    this.connections.delete(connection)
    return waiting === undefined ? behind : [waiting, ...behind]
  }

  readonly #moveAll = (): void => {
    const moved = this.#moved
    this.#moved = []
    for (const connection of moved) {
      const { socket } = connection
      while (connection.waiting === undefined && connection.owed === undefined && connection.behind.length > 0) {
        // The 'close' event removes the requests that still wait.
        if (socket.destroyed) break
        const next = connection.behind.shift()!
        next.arrivedAt = now()
        if (!connection.closing) this.#ask(connection, next)
      }
      if (!connection.hasQueue) this.connections.delete(connection)
      if (connection.behind.length === 0) connection.resumeReading('line')
    }
  }
}
