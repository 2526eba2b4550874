import type { Duplex } from 'node:stream'
import { LinkedList } from '../../linked-list.ts'
import { Connection, type ConnectionRequest, type HeadHandler } from './connection.ts'
import { CONNECTION, type HttpSocket, startReading } from './http-socket.ts'

/** Known connections that are checked for each new one. If only one were checked, dead ones could accumulate. */
const CHECKED = 2

export class Connections<R extends ConnectionRequest> {
  readonly open: LinkedList<Connection<R>> = new LinkedList()
  /** Sockets that use another protocol since an 'upgrade' or 'connect' event. */
  readonly upgraded: Set<Duplex> = new Set()
  readonly #path: HeadHandler<R>

  constructor(path: HeadHandler<R>) {
    this.#path = path
  }

  get requests(): number {
    let open = this.upgraded.size
    for (const { socket, waiting } of this.open) if (socket._httpMessage != null || waiting !== undefined) open++
    return open
  }

  at(socket: HttpSocket): Connection<R> | undefined {
    const connection = socket[CONNECTION] as Connection<R> | undefined
    return connection?.path === this.#path ? connection : undefined
  }

  /** Returns undefined unless the socket is a new HTTP/1 connection: apps may emit 'connection' with any argument. */
  add(socket: HttpSocket | undefined, onClose: (connection: Connection<R>) => void): Connection<R> | undefined {
    if (typeof socket?.on !== 'function' || this.at(socket) !== undefined) return undefined
    const connection = Connection.attach(socket, this.#path)
    if (connection === undefined) return undefined
    this.#dropHandedOver(onClose)
    this.open.add(connection)
    this.upgraded.delete(socket)
    socket.on('close', () => {
      this.open.delete(connection)
      if (!connection.handedOver) onClose(connection)
    })
    return connection
  }

  /** Drops sockets that the app has sent to another process: they emit no 'close', and Node has taken their parsers. */
  #dropHandedOver(onClose: (connection: Connection<R>) => void): void {
    for (let i = 0; i < CHECKED; i++) {
      const { first } = this.open
      if (first === undefined) return
      this.open.delete(first)
      if (first.socket.parser != null) this.open.add(first)
      else {
        first.handedOver = true
        onClose(first)
      }
    }
  }

  /** Called when Node is about to close the socket. If the socket is already destroyed, the app has closed it. */
  cut(socket: HttpSocket | null | undefined): void {
    const connection = typeof socket === 'object' && socket !== null ? this.at(socket) : undefined
    if (connection?.socket.destroyed === false) connection.cut = true
  }

  upgrade(socket: Duplex | undefined): void {
    if (typeof socket?.on !== 'function' || typeof socket.destroy !== 'function') return
    try {
      socket.on('close', () => this.upgraded.delete(socket))
      startReading(socket as HttpSocket)
    } catch {
      return // The value is not a socket.
    }
    let left = CHECKED
    for (const known of this.upgraded) {
      if (left-- === 0) break
      this.upgraded.delete(known)
      if ((known as HttpSocket)._handle !== null) this.upgraded.add(known)
    }
    this.upgraded.add(socket)
    const connection = this.at(socket as HttpSocket)
    if (connection === undefined) return
    this.open.delete(connection)
    // The app may emit the socket of a CONNECT tunnel as a new connection.
    delete (socket as HttpSocket)[CONNECTION]
  }
}
