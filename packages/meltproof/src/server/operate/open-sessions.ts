/**
 * The HTTP/2 sessions of a server, which a drain has to end. Node closes one when its last stream has closed and its
 * client has hung up, and waits for both without end.
 */
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/** So long each step may take, ms: the last bytes are under way, or being read. */
const LINGER_MS = 1000

export class OpenSession {
  readonly #session: ServerHttp2Session
  readonly #streams = new Set<ServerHttp2Stream>()
  /** Kept from its begin: a session that has ended does not give its socket. */
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

  /** Streams that have not closed. */
  get streams(): number {
    return this.#streams.size
  }

  /** Its client opens no further stream. */
  close(): void {
    if (!this.#session.closed) this.#session.close()
  }

  /**
   * Ends what nobody waits for: a stream that its client has reset is open for as long as its body is not read, and a
   * client need not hang up.
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

  /** Node ends a session without streams itself, when all has been sent. */
  get #isOver(): boolean {
    const { destroyed, closed } = this.#session
    return destroyed || (closed && this.#streams.size > 0 && [...this.#streams].every(stream => stream.closed))
  }

  destroy(): void {
    this.#session.destroy()
    this.#hangUp()
  }
}

function hangUpOf(session: ServerHttp2Session): () => void {
  const nothing = (): void => {}
  try {
    // Bound to the socket itself. Apps have sessions on streams that are none.
    return (session.socket as Partial<Socket>).destroySoon ?? nothing
  } catch {
    return nothing // an app's own, which has ended before
  }
}
