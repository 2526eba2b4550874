/**
 * Patches the server's `emit`, `closeIdleConnections` and `closeAllConnections`. Listeners for requests would not do:
 * frameworks count, reorder and replace them (socket.io removes all of 'request' and calls them itself).
 */
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Method, replaceMethod } from '../../replace-method.ts'
import type { ConnectionRequest } from './connection.ts'
import type { Connections } from './connections.ts'
import { type HttpSocket, surviveShutdownLibraries, keepOpenDuring } from './http-socket.ts'

/** Apps may emit these events themselves, with any arguments. */
export interface Intercepted {
  readonly onRequest: (event: string, args: unknown[]) => boolean
  readonly onStream: (args: unknown[]) => boolean
  readonly onConnection: (socket: HttpSocket | undefined) => void
  /** Told of sockets that Node or the app is about to close, and of those that change protocol. */
  readonly connections: Pick<Connections<ConnectionRequest>, 'cut' | 'cutAll' | 'upgrade'>
  /** Connections that Node treats as idle although one of their requests waits. */
  readonly busy: Iterable<{ readonly socket: HttpSocket; readonly hasQueue: boolean }>
}

type Emit = (this: Server, event: string, ...args: unknown[]) => boolean

export class Interception {
  readonly #server: Server
  /** Returns the server's own emit, or its prototype's current one, because tracers may patch the prototype later. */
  readonly #emit: () => Emit
  readonly #undo: (() => void)[] = []

  constructor(server: Server, intercepted: Intercepted) {
    this.#server = server
    const own = Object.hasOwn(server, 'emit') ? (server.emit as Emit) : undefined
    this.#emit = () => own ?? (Object.getPrototypeOf(server).emit as Emit)
    this.#replace('emit', (event, ...args) => this.#intercept(intercepted, event as string, args))
    // Node's close() calls closeIdleConnections(). HTTP/2 servers lack one or both methods.
    const { closeAllConnections: closeAll, closeIdleConnections: closeIdle } = server as Partial<Server>
    if (closeAll !== undefined) {
      this.#replace('closeAllConnections', () => {
        intercepted.connections.cutAll()
        closeAll.call(server)
      })
    }
    if (closeIdle === undefined) return
    this.#replace('closeIdleConnections', () => {
      surviveShutdownLibraries(intercepted.busy)
      keepOpenDuring(intercepted.busy, () => closeIdle.call(server))
    })
  }

  emit(event: string, ...args: unknown[]): boolean {
    return this.#emit().call(this.#server, event, ...args)
  }

  undo(): void {
    for (const undo of this.#undo) undo()
  }

  #intercept(intercepted: Intercepted, event: string, args: unknown[]): boolean {
    const { connections, onRequest, onStream, onConnection } = intercepted
    switch (event) {
      case 'request':
      case 'checkContinue':
      case 'checkExpectation':
        return onRequest(event, args)
      case 'stream':
        return onStream(args)
      case 'connection':
      case 'secureConnection': {
        const emitted = this.emit(event, ...args)
        onConnection(args[0] as HttpSocket | undefined)
        return emitted
      }
      case 'timeout':
        connections.cut(args[0] as HttpSocket | undefined)
        break
      case 'clientError':
        connections.cut(args[1] as HttpSocket | undefined)
        break
      case 'upgrade':
      case 'connect':
        connections.upgrade(args[1] as Duplex | undefined)
    }
    return this.emit(event, ...args)
  }

  #replace(name: 'emit' | 'closeAllConnections' | 'closeIdleConnections', ours: Method): void {
    this.#undo.push(replaceMethod(this.#server, name, () => ours))
  }
}
