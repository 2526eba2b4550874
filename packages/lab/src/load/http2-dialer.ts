/** Opens HTTP/2 connections to one server, and chooses a connection for each stream. */
import type { ConnectionOptions } from 'node:tls'
import type { Connection, ConnectionOwner, Dialer } from './connection.ts'
import { Http2Session } from './http2-session.ts'
import { Http2Stream } from './http2-stream.ts'
import type { Peer } from './target.ts'

export interface Http2Size {
  /** Number of connections opened before any carries a second stream, and the maximum. */
  readonly standing: number
  readonly most: number
  readonly streams: number
  /** True for one connection per request. */
  readonly fresh: boolean
}

export class Http2Dialer implements Dialer {
  readonly #owner: ConnectionOwner
  readonly #peer: Peer
  readonly #tls: ConnectionOptions
  readonly #size: Http2Size
  readonly #sessions = new Set<Http2Session>()

  constructor(owner: ConnectionOwner, peer: Peer, tls: ConnectionOptions, size: Http2Size) {
    this.#owner = owner
    this.#peer = peer
    this.#tls = tls
    this.#size = size
  }

  get hasRoom(): boolean {
    return this.#sessions.size < this.#size.most || this.#roomiest() !== undefined
  }

  connect(): Connection {
    const { standing, fresh } = this.#size
    const shared = fresh || this.#sessions.size < standing ? undefined : this.#roomiest()
    return new Http2Stream(this.#owner, this.#peer, shared ?? this.#open())
  }

  destroy(): void {
    for (const session of [...this.#sessions]) session.destroy()
  }

  #open(): Http2Session {
    const { streams, fresh } = this.#size
    const session = new Http2Session(this.#peer, this.#tls, streams, fresh, ended => this.#sessions.delete(ended))
    this.#sessions.add(session)
    return session
  }

  #roomiest(): Http2Session | undefined {
    let found: Http2Session | undefined
    for (const session of this.#sessions) if (session.room > (found?.room ?? 0)) found = session
    return found
  }
}
