/**
 * The sockets and HTTP/2 sessions that a server has emitted and that are not closed: a drain must end them. Node closes
 * a session when its last stream has closed and its client has disconnected, and waits for both without a timeout.
 */
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type net from 'node:net'
import { isTlsServer } from '../../loaded.ts'
import { quietly } from '../../warnings.ts'

export interface StillOpen<T> {
  readonly open: ReadonlySet<T>
  stop(): void
}

/** Tracks the sockets below TLS: an unfinished handshake is not a connection yet, and keeps the server open. */
export function socketsBelowTls(server: net.Server): StillOpen<net.Socket> {
  return stillOpen(isTlsServer(server) ? server : undefined, 'connection', (socket: net.Socket) => socket)
}

export function http2Sessions(server: net.Server): StillOpen<OpenSession> {
  return stillOpen(server, 'session', (session: ServerHttp2Session) => new OpenSession(session))
}

function stillOpen<E extends net.Socket | ServerHttp2Session, T>(
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

const EVENTS = /^(?:text\/event-stream|application\/grpc)\b/i

/** Time in which the last bytes are sent and read before each step, ms: the session ends, then its socket closes. */
const LINGER_MS = 1000

export class OpenSession {
  readonly #session: ServerHttp2Session
  readonly #streams = new Set<ServerHttp2Stream>()
  /** `destroySoon` of the socket, read early because ended sessions throw. A stream that the app made may lack it. */
  readonly #hangUp: (() => void) | undefined
  #overSince: number | undefined

  constructor(session: ServerHttp2Session) {
    this.#session = session
    this.#hangUp = quietly(() => (session.socket as Partial<net.Socket>).destroySoon)
    session.on('stream', stream => {
      this.#streams.add(stream)
      stream.on('close', () => this.#streams.delete(stream))
    })
  }

  get streams(): number {
    return this.#streams.size
  }

  /** True if each stream is an answer of events or of gRPC that has begun, which the app itself must end. */
  get isLeftToApp(): boolean {
    return [...this.#streams].every(({ sentHeaders }) => EVENTS.test(String(sentHeaders?.['content-type'])))
  }

  /** Forbids the client to open further streams. */
  close(): void {
    if (!this.#session.closed) this.#session.close()
  }

  /**
   * Ends the session if its client waits for no answer. Node would keep it open: reset streams stay open until they are
   * read, and clients may never disconnect.
   */
  look(nowMs: number): void {
    if (!this.#isOver) {
      this.#overSince = undefined
      return
    }
    this.#overSince ??= nowMs
    if (nowMs - this.#overSince < LINGER_MS) return
    this.#overSince = undefined
    if (this.#session.destroyed) this.#hangUp?.()
    else this.#session.destroy()
  }

  /** A session without streams is not over: Node itself ends it after all data is sent. */
  get #isOver(): boolean {
    const { destroyed, closed } = this.#session
    return destroyed || (closed && this.#streams.size > 0 && [...this.#streams].every(stream => stream.closed))
  }

  destroy(): void {
    this.#session.destroy()
    this.#hangUp?.()
  }
}
