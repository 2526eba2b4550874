/** Tracks sockets and sessions that a server has emitted and that are not closed: a drain must end them. */
import type { ServerHttp2Session } from 'node:http2'
import type net from 'node:net'
import { isTlsServer } from '../../loaded.ts'
import { OpenSession } from './open-sessions.ts'

export interface StillOpen<T> {
  readonly open: ReadonlySet<T>
  stop(): void
}

/** Tracks the sockets below TLS: an unfinished handshake is not a connection yet, and keeps the server open. */
export function socketsBelowTls(server: net.Server): StillOpen<net.Socket> {
  return watch(isTlsServer(server) ? server : undefined, 'connection', (socket: net.Socket) => socket)
}

export function http2Sessions(server: net.Server): StillOpen<OpenSession> {
  return watch(server, 'session', (session: ServerHttp2Session) => new OpenSession(session))
}

function watch<E extends net.Socket | ServerHttp2Session, T>(
  server: net.Server | undefined,
  event: string,
  entry: (one: E) => T,
): StillOpen<T> {
  const open = new Set<T>()
  const opened = (one: E | undefined): void => {
    // Apps may emit these events themselves, with any arguments.
    if (typeof one?.on !== 'function') return
    const added = entry(one)
    open.add(added)
    one.on('close', () => open.delete(added))
  }
  server?.on(event, opened)
  return { open, stop: () => void server?.removeListener(event, opened) }
}
