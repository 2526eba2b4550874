/**
 * Patches the server's `emit`, `closeIdleConnections` and `closeAllConnections`. Listeners for requests do not suffice:
 * frameworks count, reorder and replace them (socket.io removes all 'request' listeners and calls them itself).
 */
import { IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { replaceMethod } from '../../replace-method.ts'
import type { ConnectionRequest } from './connection.ts'
import type { Connections } from './connections.ts'
import { type Busy, type HttpSocket, surviveShutdownLibraries, keepOpenDuring } from './http-socket.ts'

/** Apps may emit these events themselves, with any arguments. */
export interface Intercepted {
  onRequest(event: string, args: unknown[]): boolean
  onStream(args: unknown[]): boolean
  onConnection(socket: HttpSocket | undefined): void
  /** Receives sockets that Node or the app is about to close, and sockets that change protocol. */
  readonly connections: Pick<Connections<ConnectionRequest>, 'cut' | 'open' | 'upgrade'>
}

type Emit = (this: Server, event: string, ...args: unknown[]) => boolean

export interface Interception {
  /** Emits an event as the server would without meltproof. */
  emit(event: string, ...args: unknown[]): boolean
  undo(): void
}

export function intercept(server: Server, intercepted: Intercepted, busy: Busy): Interception {
  const { connections } = intercepted
  const own = Object.hasOwn(server, 'emit') ? (server.emit as Emit) : undefined
  const emit = (event: string, ...args: unknown[]): boolean => {
    // A server without an own `emit` has that of its prototype, which tracers may patch later.
    const current = own ?? (Object.getPrototypeOf(server).emit as Emit)
    return current.call(server, event, ...args)
  }
  const interceptEvent = (name: unknown, ...args: unknown[]): boolean => {
    const event = name as string
    switch (event) {
      case 'request':
      case 'checkContinue':
      case 'checkExpectation':
        return intercepted.onRequest(event, args)
      case 'stream':
        return intercepted.onStream(args)
      case 'connection':
      case 'secureConnection': {
        const emitted = emit(event, ...args)
        intercepted.onConnection(args[0] as HttpSocket | undefined)
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
    return emit(event, ...args)
  }
  // Node's close() calls closeIdleConnections(). HTTP/2 servers lack one or both methods.
  const undos = [
    replaceMethod(server, 'emit', () => interceptEvent),
    replaceMethod(server, 'closeAllConnections', closeAll => () => {
      for (const connection of connections.open) connection.cut = true
      return closeAll()
    }),
    replaceMethod(server, 'closeIdleConnections', closeIdle => () => {
      surviveShutdownLibraries(busy)
      keepOpenDuring(busy, closeIdle)
    }),
  ]
  return {
    emit,
    undo: () => {
      for (const undo of undos) undo()
    },
  }
}

/**
 * True when request and response belong to one connection, whose events then show their end. Requests that apps emit
 * themselves may be any objects, and do not count as load.
 */
export function cameOverConnection(request: unknown, response: unknown): boolean {
  try {
    if (request instanceof IncomingMessage && response instanceof ServerResponse) return shareSocket(request, response)
    const { stream } = request as { readonly stream?: object }
    return stream !== undefined && stream === (response as { readonly stream?: object }).stream && 'session' in stream
  } catch {
    return false // An argument is null, its stream is no object, or a getter throws.
  }
}

function shareSocket({ socket }: { socket: HttpSocket | null }, response: ServerResponse): boolean {
  if (typeof socket?.on !== 'function') return false
  // A pipelined response has no socket while the response before it is being written.
  return response.socket === socket || (response.socket === null && socket._httpMessage != null)
}
