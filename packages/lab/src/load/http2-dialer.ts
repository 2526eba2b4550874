/** Opens HTTP/2 connections to one server, and chooses a connection for each stream. */
import type { ConnectionOptions } from 'node:tls'
import type { ConnectionOwner, Dialer } from './connection.ts'
import { Http2Session } from './http2-session.ts'
import { Http2Stream } from './http2-stream.ts'
import type { Peer } from './target.ts'

interface Http2Size {
  /** Number of connections opened before any carries a second stream, and the maximum. */
  readonly standing: number
  readonly most: number
  readonly streams: number
  /** True for one connection per request. */
  readonly fresh: boolean
}

export const http2Dialer = (
  owner: ConnectionOwner,
  peer: Peer,
  tls: ConnectionOptions,
  { standing, most, streams, fresh }: Http2Size,
): Dialer => {
  const sessions = new Set<Http2Session>()
  const open = (): Http2Session => {
    const session = new Http2Session(peer, tls, streams, fresh, ended => sessions.delete(ended))
    sessions.add(session)
    return session
  }
  const roomiest = (): Http2Session | undefined => {
    let found: Http2Session | undefined
    for (const session of sessions) if (session.room > (found?.room ?? 0)) found = session
    return found
  }
  return {
    get hasRoom() {
      return sessions.size < most || roomiest() !== undefined
    },
    connect() {
      const shared = fresh || sessions.size < standing ? undefined : roomiest()
      return new Http2Stream(owner, peer, shared ?? open())
    },
    destroy() {
      for (const session of [...sessions]) session.destroy()
    },
  }
}
