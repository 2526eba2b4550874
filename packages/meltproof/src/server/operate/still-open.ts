/** What a server has emitted and not closed: a drain has to end it. */
import type { ServerHttp2Session } from 'node:http2'
import type net from 'node:net'
import { Server as TlsServer } from 'node:tls'

export interface StillOpen<T> {
  readonly open: ReadonlySet<T>
  stop(): void
}

/** The sockets below TLS: a handshake that never ends is no connection yet, and holds the server open. */
export function socketsBelowTls(server: net.Server): StillOpen<net.Socket> {
  return watch(server instanceof TlsServer ? server : undefined, 'connection')
}

export function http2Sessions(server: net.Server): StillOpen<ServerHttp2Session> {
  return watch(server, 'session')
}

function watch<T extends net.Socket | ServerHttp2Session>(server: net.Server | undefined, event: string): StillOpen<T> {
  const open = new Set<T>()
  const opened = (one: T | undefined): void => {
    // Apps emit these events themselves, with any arguments.
    if (typeof one?.on !== 'function') return
    open.add(one)
    one.on('close', () => open.delete(one))
  }
  server?.on(event, opened)
  return { open, stop: () => void server?.removeListener(event, opened) }
}
