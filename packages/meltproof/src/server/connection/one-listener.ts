/**
 * Fastify has a server for each address of `localhost`, with one handler and one port. What the later ones accept is given
 * to the first, like that of its own sockets: there is one gate, one limit, and one server to drain.
 */
import { Server as HttpServer } from 'node:http'
import type net from 'node:net'
import { openLanes } from './lanes.ts'
import type { ListenHandle } from './listen-socket.ts'

/** Whether `server`, which is about to listen with these arguments, does for another address what `first` does. */
export function isOneWith(server: net.Server, listenArguments: readonly unknown[], first: net.Server): boolean {
  // With TLS, each could have certificates of its own.
  if (server === first || !(server instanceof HttpServer && first instanceof HttpServer)) return false
  const [listener, ...others] = server.listeners('request')
  if (listener === undefined || others.length > 0 || !first.listeners('request').includes(listener)) return false
  const address = first.address()
  return typeof address === 'object' && address !== null && address.port === portIn(listenArguments)
}

function portIn([first]: readonly unknown[]): number {
  return Number(typeof first === 'object' ? (first as { port?: unknown } | null)?.port : first)
}

/** From its next listen() on, `server` hands its connections to `first`, and stops accepting when that does. */
export function handOver(server: net.Server, first: net.Server, lanes: number): void {
  openLanes(server, { lanes })
  server.prependOnceListener('listening', () => {
    const from = handleOf(server)
    const to = handleOf(first)
    if (from == null || to == null) return
    from.onconnection = (status, client) => to.onconnection?.call(to, status, client)
    const { close } = to
    to.close = callback => {
      from.close()
      return close.call(to, callback)
    }
  })
}

function handleOf(server: net.Server): ListenHandle | null | undefined {
  return (server as unknown as { _handle?: ListenHandle | null })._handle
}
