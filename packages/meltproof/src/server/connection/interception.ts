/**
 * The one place where meltproof stands in a server's way: its `emit` and its `closeIdleConnections`.
 *
 * `emit` rather than a listener: frameworks replace and reorder listeners (socket.io takes all of 'request' off and calls
 * them itself), and a listener of ours would be counted, moved or skipped.
 */
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Connection, type HttpSocket, sparing } from './connection.ts'

/** Apps emit these events themselves, with whatever they have: arguments may be anything. */
export interface Intercepted {
  /** Node, or the app, hands a request to the app. Answers what `emit` is to answer. */
  readonly onRequest: (event: string, args: unknown[]) => boolean
  /** After the listeners of the app. */
  readonly onConnection: (socket: HttpSocket | undefined) => void
  /** Node closes a connection on which nothing moves, though a handler may be at work. */
  readonly onTimeout: (socket: HttpSocket | undefined) => void
  /** The connection becomes somebody else's. */
  readonly onUpgrade: (socket: Duplex | undefined) => void
  /** Connections that look idle to Node and must not be closed: a request of theirs waits here. */
  readonly busy: Iterable<Connection>
}

export class Interception {
  readonly #server: Server
  /** What the server's emit was, or its prototype's at this moment: tracers patch that one, also later. */
  readonly #emit: () => Emit
  readonly #undo: (() => void)[] = []

  constructor(server: Server, intercepted: Intercepted) {
    this.#server = server
    const own = Object.hasOwn(server, 'emit') ? (server.emit as Emit) : undefined
    this.#emit = () => own ?? (Object.getPrototypeOf(server).emit as Emit)
    this.#interceptEmit(own, intercepted)
    this.#interceptIdleClosing(intercepted)
  }

  /** What the server does without us. */
  emit(event: string, ...args: unknown[]): boolean {
    return this.#emit().call(this.#server, event, ...args)
  }

  /** The server is as before. Where somebody has wrapped ours, it stays in place. */
  undo(): void {
    for (const undo of this.#undo) undo()
  }

  #interceptEmit(own: Emit | undefined, intercepted: Intercepted): void {
    const server = this.#server
    const emit = this.#emit
    const intercepting = (event: string, ...args: unknown[]): boolean => {
      switch (event) {
        case 'request':
        case 'checkContinue':
        case 'checkExpectation':
          return intercepted.onRequest(event, args)
        case 'connection':
        case 'secureConnection': {
          const emitted = emit().call(server, event, ...args)
          intercepted.onConnection(args[0] as HttpSocket | undefined)
          return emitted
        }
        case 'timeout':
          intercepted.onTimeout(args[0] as HttpSocket | undefined)
          return emit().call(server, event, ...args)
        case 'upgrade':
        case 'connect':
          intercepted.onUpgrade(args[1] as Duplex | undefined)
          return emit().call(server, event, ...args)
        default:
          return emit().call(server, event, ...args)
      }
    }
    server.emit = intercepting as Server['emit']
    this.#undo.push(() => {
      if (server.emit !== intercepting) return
      if (own !== undefined) server.emit = own as Server['emit']
      else delete (server as Partial<Server>).emit
    })
  }

  /** close() destroys idle connections. */
  #interceptIdleClosing({ busy }: Intercepted): void {
    const server = this.#server
    const closeIdle = server.closeIdleConnections as Server['closeIdleConnections'] | undefined
    if (closeIdle === undefined) return // HTTP/2 has no idle connections of this kind
    const hadOwn = Object.hasOwn(server, 'closeIdleConnections')
    const intercepting = (): void => sparing(busy, () => closeIdle.call(server))
    server.closeIdleConnections = intercepting
    this.#undo.push(() => {
      if (server.closeIdleConnections !== intercepting) return
      if (hadOwn) server.closeIdleConnections = closeIdle
      else delete (server as Partial<Server>).closeIdleConnections
    })
  }
}

type Emit = (this: Server, event: string, ...args: unknown[]) => boolean
