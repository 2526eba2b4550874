/**
 * One HTTP/2 session of a server, which a drain must end. Node closes a session when its last stream has closed and its
 * client has disconnected, and waits for both without a timeout.
 */
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { quietly } from '../../warnings.ts'

/** Maximum time for each step of the end, ms: the last bytes are being sent or read. */
const LINGER_MS = 1000

export class OpenSession {
  readonly #session: ServerHttp2Session
  readonly #streams = new Set<ServerHttp2Stream>()
  /** Stored when the session begins: a session that has ended does not return its socket. */
  readonly #hangUp: () => void
  #overSince: number | undefined

  constructor(session: ServerHttp2Session) {
    this.#session = session
    this.#hangUp = hangUpOf(session)
    session.on('stream', stream => {
      this.#streams.add(stream)
      stream.on('close', () => this.#streams.delete(stream))
    })
  }

  get streams(): number {
    return this.#streams.size
  }

  /** Forbids the client to open further streams. */
  close(): void {
    if (!this.#session.closed) this.#session.close()
  }

  /**
   * Ends the session if no client waits: a reset stream stays open until its body is read; clients may not disconnect.
   */
  look(nowMs: number): void {
    if (!this.#isOver) {
      this.#overSince = undefined
      return
    }
    this.#overSince ??= nowMs
    if (nowMs - this.#overSince < LINGER_MS) return
    this.#overSince = undefined
    if (this.#session.destroyed) this.#hangUp()
    else this.#session.destroy()
  }

  /** A session without streams is not over: Node itself ends it after all data is sent. */
  get #isOver(): boolean {
    const { destroyed, closed } = this.#session
    return destroyed || (closed && this.#streams.size > 0 && [...this.#streams].every(stream => stream.closed))
  }

  destroy(): void {
    this.#session.destroy()
    this.#hangUp()
  }
}

/** Returns `destroySoon` of the session's socket, or a no-op: apps use other streams, and ended sessions throw. */
function hangUpOf(session: ServerHttp2Session): () => void {
  return quietly(() => (session.socket as Partial<Socket>).destroySoon) ?? (() => {})
}
