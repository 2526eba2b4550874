/** Counts the requests that clients have open at a server, with or without a permit, as a proxy in front does. */
import type { Duplex } from 'node:stream'
import type { Connection } from '../connection/connection.ts'
import type { OpenSession } from './open-sessions.ts'

export interface OpenConnections {
  readonly open: Iterable<Connection>
  readonly upgraded: ReadonlySet<Duplex>
}

export function openRequests(connections: OpenConnections, sessions: Iterable<OpenSession>): number {
  let open = connections.upgraded.size
  for (const { socket, waiting } of connections.open) if (socket._httpMessage != null || waiting !== undefined) open++
  for (const session of sessions) open += session.streams
  return open
}
