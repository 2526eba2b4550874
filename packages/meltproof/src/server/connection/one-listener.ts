/**
 * Fastify has a server for each address of `localhost`, with one handler and one port. What the later ones accept is given
 * to the first, like that of its own sockets: there is one gate, one limit, and one server to drain.
 */
import { type EventEmitter, errorMonitor } from 'node:events'
import { Server as HttpServer } from 'node:http'
import type net from 'node:net'
import { openLanes } from './lanes.ts'
import type { ListenHandle } from './listen-socket.ts'

/** Whether `server`, which is about to listen with these arguments, does for another address what `first` does. */
export function isOneWith(server: net.Server, listenArguments: readonly unknown[], first: net.Server): boolean {
  // With TLS, each could have certificates of its own.
  if (server === first || !(server instanceof HttpServer && first instanceof HttpServer)) return false
  const [listener, ...others] = server.listeners('request')
  if (listener === undefined || others.length > 0 || !doesTheSame(server, first)) return false
  const address = first.address()
  return typeof address === 'object' && address !== null && address.port === portIn(listenArguments)
}

/** Those of its other listeners would not be called that see requests and connections. */
function doesTheSame(server: net.Server, first: net.Server): boolean {
  return server.eventNames().every(event => {
    if (OF_THE_SERVER.has(event)) return true
    const known = first.listeners(event)
    return server.listeners(event).every(listener => known.includes(listener) || listener.name === FASTIFYS)
  })
}

const OF_THE_SERVER: ReadonlySet<unknown> = new Set(['listening', 'error', 'close'])
/** Fastify's later servers pass upgrades on to the first one by its `emit`. */
const FASTIFYS = 'bound emit'

function portIn([first]: readonly unknown[]): number {
  return Number(typeof first === 'object' ? (first as { port?: unknown } | null)?.port : first)
}

/**
 * From its next listen() on, `server` hands its connections to `first`, and stops accepting when that does. After it has
 * closed, or could not listen, it may listen elsewhere by itself.
 */
export function handOver(server: net.Server, first: net.Server, lanes: number): void {
  const own = openLanes(server, { lanes })
  const events: EventEmitter = server
  const join = (): void => {
    events.off(errorMonitor, part)
    const from = handleOf(server)
    const to = handleOf(first)
    if (from == null || to == null) return
    from.onconnection = (status, client) => to.onconnection?.call(to, status, client)
    const { close } = to
    to.close = callback => {
      from.close()
      return close.call(to, callback)
    }
  }
  const part = (): void => {
    own.close()
    events.off('listening', join).off('close', part).off(errorMonitor, part)
  }
  events.prependOnceListener('listening', join).once('close', part).once(errorMonitor, part)
}

function handleOf(server: net.Server): ListenHandle | null | undefined {
  return (server as unknown as { _handle?: ListenHandle | null })._handle
}
