/** Resolves the addresses of the servers in a plan. */
import type { Peer } from './connection.ts'
import { resolveAddress, type Target } from './target.ts'

/** Undefined for a name without an address. */
export const peersOf = (servers: readonly Target[], timeoutMs: number): Promise<(Peer | undefined)[]> =>
  Promise.all(
    servers.map(async (server, index) => {
      const address = await resolveAddress(server, timeoutMs)
      const tlsName = server.secure ? server.hostname : undefined
      return address === undefined ? undefined : { index, address, port: server.port, tlsName }
    }),
  )
