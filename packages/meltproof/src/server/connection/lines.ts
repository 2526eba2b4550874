/** Pipelined requests stand in line behind one that waits, or behind an answer that is put off, and ask in their turn. */
import type { Server } from 'node:http'
import { now } from '../../clock.ts'
import type { Connection, ConnectionRequest } from './connection.ts'
import { lookBusy, lookIdle } from './http-socket.ts'

/** Behind so many no more are read. Not at the first: a socket that is not read does not tell that its client has gone. */
const MOST_BEHIND = 16

export class Lines<R extends ConnectionRequest> {
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
    lookBusy(connection.socket)
    this.connections.add(connection)
  }

  join(connection: Connection<R>, request: R): void {
    if (connection.behind.push(request) >= MOST_BEHIND) connection.pauseReading('line')
  }

  move(connection: Connection<R>): void {
    connection.waiting = undefined
    lookIdle(connection.socket)
    if (connection.behind.length === 0) this.connections.delete(connection)
    // Not now: the gate is in the middle of something, and a thousand lines moving at once would be as deep a stack.
    else if (this.#moved.push(connection) === 1) setImmediate(this.#moveAll)
  }

  takeAll(connection: Connection<R>): R[] {
    const { waiting, behind } = connection
    connection.waiting = undefined
    connection.behind = []
    lookIdle(connection.socket)
    this.connections.delete(connection)
    return waiting === undefined ? behind : [waiting, ...behind]
  }

  readonly #moveAll = (): void => {
    const moved = this.#moved
    this.#moved = []
    for (const connection of moved) {
      const { socket } = connection
      while (connection.waiting === undefined && connection.owed === undefined && connection.behind.length > 0) {
        // What waits is taken out when its 'close' comes.
        if (socket.destroyed) break
        const next = connection.behind.shift()!
        next.arrivedAt = now()
        if (!connection.closing) this.#ask(connection, next)
      }
      if (!connection.hasLine) this.connections.delete(connection)
      if (connection.behind.length === 0) connection.resumeReading('line')
    }
  }
}
