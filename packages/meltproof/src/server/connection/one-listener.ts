/**
 * Fastify creates a server for each address of `localhost`, with the same handler and port. Connections of the later
 * servers are passed to the first, so that there is one gate, one limit, and one server to drain.
 */
import { type EventEmitter, errorMonitor } from 'node:events'
import { Server as HttpServer } from 'node:http'
import type net from 'node:net'
import { openLanes } from './lanes.ts'
import type { ListenHandle } from './listen-socket.ts'

/** True if `server`, about to listen with these arguments, is Fastify's and only adds an address to `first`. */
export function sharesHandler(server: net.Server, listenArguments: readonly unknown[], first: net.Server): boolean {
  // With TLS, each server could have its own certificates.
  if (server === first || !(server instanceof HttpServer && first instanceof HttpServer)) return false
  const [listener, ...others] = server.listeners('request')
  if (listener === undefined || others.length > 0 || !hasSameListeners(server, first)) return false
  // An app may close its own two servers separately, so only servers that Fastify made are joined.
  if (!server.listeners('upgrade').some(({ name }) => name === FASTIFYS)) return false
  const address = first.address()
  return typeof address === 'object' && address !== null && address.port === portIn(listenArguments)
}

/** Once `first` gets the connections, listeners that only `server` has would not be called. */
function hasSameListeners(server: net.Server, first: net.Server): boolean {
  return server.eventNames().every(event => {
    if (OF_THE_SERVER.has(event)) return true
    const known = first.listeners(event)
    return server.listeners(event).every(listener => known.includes(listener) || listener.name === FASTIFYS)
  })
}

const OF_THE_SERVER: ReadonlySet<unknown> = new Set(['listening', 'error', 'close'])
/** Fastify's later servers pass upgrades to the first one through its `emit`. */
const FASTIFYS = 'bound emit'

function portIn([first]: readonly unknown[]): number {
  return Number(typeof first === 'object' ? (first as { port?: unknown } | null)?.port : first)
}

/**
 * From its next listen() on, `server` passes its connections to `first`, and closes when `first` closes. Once `server`
 * has closed, or failed to listen, it may listen elsewhere on its own.
 */
export function handOver(server: net.Server, first: net.Server, lanes: number): void {
  const own = openLanes(server, lanes)
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
