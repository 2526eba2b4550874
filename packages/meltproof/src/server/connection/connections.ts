import type { Duplex } from 'node:stream'
import { LinkedList } from '../../linked-list.ts'
import { Connection, type ConnectionRequest, type HeadHandler } from './connection.ts'
import { type HttpSocket, startReading } from './http-socket.ts'

export class Connections<R extends ConnectionRequest> {
  readonly open: LinkedList<Connection<R>> = new LinkedList()
  /** Sockets that use another protocol since an 'upgrade' or 'connect' event. */
  readonly upgraded: Set<Duplex> = new Set()
  readonly #heads: HeadHandler<R>

  constructor(heads: HeadHandler<R>) {
    this.#heads = heads
  }

  /** How many requests clients have open, with or without a permit, as a proxy in front counts them. */
  get requests(): number {
    let open = this.upgraded.size
    for (const { socket, waiting } of this.open) if (socket._httpMessage != null || waiting !== undefined) open++
    return open
  }

  at(socket: HttpSocket): Connection<R> | undefined {
    return Connection.of(socket, this.#heads)
  }

  /** Returns undefined unless it is a new HTTP/1 connection: apps may emit 'connection' themselves, with anything. */
  add(socket: HttpSocket | undefined, onClose: (connection: Connection<R>) => void): Connection<R> | undefined {
    if (typeof socket?.on !== 'function' || this.at(socket) !== undefined) return undefined
    const connection = Connection.attach(socket, this.#heads)
    if (connection === undefined) return undefined
    this.open.add(connection)
    socket.on('close', () => {
      this.open.delete(connection)
      onClose(connection)
    })
    return connection
  }

  /** Called when Node or the app is about to close the socket. If it is already destroyed, the app has closed it. */
  cut(socket: HttpSocket | null | undefined): void {
    const connection = typeof socket === 'object' && socket !== null ? this.at(socket) : undefined
    if (connection?.socket.destroyed === false) connection.cut = true
  }

  cutAll(): void {
    for (const connection of this.open) connection.cut = true
  }

  upgrade(socket: Duplex | undefined): void {
    if (typeof socket?.on !== 'function' || typeof socket.destroy !== 'function') return
    try {
      socket.on('close', () => this.upgraded.delete(socket))
      startReading(socket as HttpSocket)
    } catch {
      return // The value is not a socket.
    }
    this.upgraded.add(socket)
    const connection = this.at(socket as HttpSocket)
    if (connection !== undefined) this.open.delete(connection)
  }
}
