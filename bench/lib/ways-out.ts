/** Lets 48 clients leave in each way of packages/meltproof/test/server/ways-out.ts, while their handlers hang. */
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { protect as Protect } from '../../packages/meltproof/src/index.ts'
import {
  HTTP1_WAYS,
  HTTP2_WAYS,
  type Http1Way,
  type Http2Way,
  PROTOCOLS,
  type Protocol,
  serverFor,
  visit,
} from '../../packages/meltproof/test/server/ways-out.ts'

const CLIENTS = 48
const LIMIT = 16
/** A client whose handler does not begin disconnects after this time, ms. */
const PATIENCE_MS = 15

export interface WayTaken {
  readonly protocol: Protocol
  readonly way: Http1Way | Http2Way
}

export function waysOut(): WayTaken[] {
  return PROTOCOLS.flatMap(protocol => {
    const ways: readonly (Http1Way | Http2Way)[] = protocol === 'http' || protocol === 'https' ? HTTP1_WAYS : HTTP2_WAYS
    return ways.filter(way => !('secure' in way) || protocol === 'https').map(way => ({ protocol, way }))
  })
}

/** Returns the handlers at work, and the requests that are still in service after all handlers have ended. */
export async function leaveBy(
  protocol: Protocol,
  way: Http1Way | Http2Way,
  protect: typeof Protect | undefined,
): Promise<{ most: number; inflight: number }> {
  const hung = Promise.withResolvers<void>()
  let came = 0
  let working = 0
  const server = serverFor(protocol, way, async () => {
    came++
    working++
    await hung.promise
    working--
  }) as Server
  const guard = protect?.(server, { limit: LIMIT, lanes: 1 })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const clients = []
  for (let i = 0; i < CLIENTS; i++) {
    const before = came
    const client = await visit(protocol, way, port)
    clients.push(client)
    for (const untilMs = Date.now() + PATIENCE_MS; came === before && Date.now() < untilMs; ) await sleep(1)
    client.go(server)
    await sleep(1)
    if (way.answered !== true && came === before) client.leave()
  }
  await sleep(100)
  const most = working
  for (const client of clients) client.leave()
  hung.resolve()
  await sleep(100)
  const inflight = guard?.stats().inflight ?? working
  server.close()
  server.closeAllConnections?.()
  guard?.close()
  return { most, inflight }
}
