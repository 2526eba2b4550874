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
  #due: Connection<R>[] = []

  constructor(server: Server, ask: (connection: Connection<R>, request: R) => void) {
    this.#server = server
    this.#ask = ask
  }

  wait(connection: Connection<R>, request: R): void {
    connection.keepContext()
    connection.stopTimeouts(this.#server)
    connection.waiting = request
    this.add(connection)
  }

  add(connection: Connection<R>): void {
    markBusy(connection.socket)
    this.connections.add(connection)
  }

  waitBehind(connection: Connection<R>, request: R): void {
    connection.keepContext()
    if (connection.behind.push(request) >= MOST_BEHIND) connection.pauseReading('pipeline')
  }

  next(connection: Connection<R>): void {
    this.#release(connection)
    // The call is deferred: the gate is deciding, and a thousand connections would nest a thousand calls.
    if (connection.behind.length > 0 && this.#due.push(connection) === 1) setImmediate(this.#nextOfAll)
  }

  takeAll(connection: Connection<R>): R[] {
    const { waiting, behind } = connection
    connection.behind = []
    this.#release(connection)
    return waiting === undefined ? behind : [waiting, ...behind]
  }

  #release(connection: Connection<R>): void {
    connection.waiting = undefined
    markIdle(connection.socket)
    connection.startTimeout()
    if (connection.behind.length === 0) this.connections.delete(connection)
  }

  readonly #nextOfAll = (): void => {
    const due = this.#due
    this.#due = []
    for (const connection of due) {
      const { socket } = connection
      while (
        connection.waiting === undefined &&
        connection.delayedAnswer === undefined &&
        connection.behind.length > 0
      ) {
        // The 'close' event removes the requests that still wait.
        if (socket.destroyed) break
        const next = connection.behind.shift()!
        next.arrivedAt = now()
        if (!connection.closing) this.#ask(connection, next)
      }
      if (!connection.hasQueue) this.connections.delete(connection)
      if (connection.behind.length === 0) connection.resumeReading('pipeline')
    }
  }
}
