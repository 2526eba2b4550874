/**
 * Draining, in steps:
 *
 * 1. Balancers notice: the server serves, but is not ready, and every HTTP/1 answer is the last of its connection.
 * 2. The server stops accepting. It serves requests in service, waiting requests, and those that still arrive on open
 *    connections. It closes idle connections when their clients may no longer use them.
 * 3. When the time is up, it closes idle connections and sheds or cuts the rest, including upgraded connections.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from 'node:timers'
import { now } from '../../clock.ts'
import { quietly } from '../../warnings.ts'
import type { Connection } from '../connection/connection.ts'
import type { Connections } from '../connection/connections.ts'
import { keepOpenDuring } from '../connection/http-socket.ts'
import { IdleConnections } from '../connection/idle-connections.ts'
import type { Lanes } from '../connection/lanes.ts'
import { announced, isStreaming } from '../in-service/streaming-responses.ts'
import type { Exchange } from '../request/exchange.ts'
import { afterReading, type HeldGate } from './after-reading.ts'
import type { OpenSession } from './open-sessions.ts'

export interface Drainable {
  readonly server: Server
  readonly path: {
    readonly connections: Pick<Connections<Exchange>, 'open' | 'upgraded'>
    readonly serverGate: HeldGate
    lastAnswers(): void
    shedAll(): void
  }
  readonly lanes: Pick<Lanes, 'closeOne'>
  readonly sessions: ReadonlySet<OpenSession>
  /** The sockets below TLS: those with an unfinished handshake are in none of the sets above. */
  readonly sockets: ReadonlySet<Socket>
  /** How long the server still accepts. @default while requests arrive, up to {@link ACCEPT_MS} */
  readonly delayMs: number | undefined
  /** True to resolve once only WebSockets are left, or long event streams, which the app itself must end in time. */
  readonly leavesEndless: boolean
}

/** Maximum of the default delay in {@link drain}, ms: Kubernetes informs every node within a few seconds. */
const ACCEPT_MS = 5000
/** After this time without a request, no further one is expected, ms. So Ctrl-C stops an idle server at once. */
const QUIET_MS = 1000
const LOOK_MS = 50
/** Answers of language models are event streams too. Most of them end within this time, ms. */
const EVENTS_MS = 10_000
/** Time for writing the last 503 answers when the time is up, ms. */
const LAST_SHEDS_MS = 100

/** Maximum time for which the server still accepts connections. The other half is for requests that arrive last. */
export function longestDelay(timeoutMs: number): number {
  return timeoutMs / 2
}

/** Resolves true when everything ended in time, false when something was cut after `timeoutMs`. */
export function drain(drainable: Drainable, timeoutMs: number): Promise<boolean> {
  const { server, path, lanes, sessions, sockets, delayMs, leavesEndless } = drainable
  const { serverGate: gate } = path
  const { open: connections, upgraded } = path.connections
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const beganAt = now()
  const acceptMs = Math.min(delayMs ?? ACCEPT_MS, longestDelay(timeoutMs))
  const quietMs = Math.min(QUIET_MS, longestDelay(timeoutMs))
  const idle = new IdleConnections(server, connections, gate.activeAt, quietMs)
  let accepting = true
  let closing = false
  let over = false
  let cut = false

  const stop = (): void => {
    // Node's close() would close all idle connections at once.
    if (server.listening) keepOpenDuring(connections, () => server.close())
    for (const session of sessions) session.close()
    idle.look(now())
  }
  const look = (): void => {
    const nowMs = now()
    idle.look(nowMs)
    for (const session of sessions) session.look(nowMs)
    const quiet = delayMs === undefined && nowMs - gate.activeAt >= quietMs
    if (accepting && !quiet && nowMs - beganAt < acceptMs) return
    accepting = false
    // Also closes HTTP/2 sessions that had not begun when the server stopped accepting.
    if (!server.listening) stop()
    if (leavesEndless && !server.listening && isLeftToApp(nowMs - beganAt)) resolve(true)
    if (closing || (!server.listening && idle.due(nowMs, gate.activeAt).length === 0)) return
    closing = true
    afterReading(gate, closeNext, () => {
      closing = false
    })
  }
  const isLeftToApp = (sinceMs: number): boolean => {
    const [open, http2] = [[...connections], [...sessions]]
    const streaming = open.length + http2.length
    // A socket below TLS without a connection has not finished its handshake.
    if (streaming + upgraded.size < Math.max(1, sockets.size)) return false
    return (
      streaming === 0 || (sinceMs >= EVENTS_MS && open.every(isEventStream) && http2.every(each => each.isLeftToApp))
    )
  }
  /** Closes one lane or a few connections: requests that arrive meanwhile are lost. Returns true if more are due. */
  const closeNext = (): boolean => {
    if (server.listening && lanes.closeOne()) return true
    const wasListening = server.listening
    stop()
    if (wasListening) return !server.listening
    return idle.closeSome(now(), gate.activeAt)
  }
  const timeIsUp = (): void => {
    stop()
    idle.closeAll()
    // With only idle connections left, the server closes a moment later and nothing is cut.
    setImmediate(() => setImmediate(() => quietly(cutRest)))
  }
  const cutRest = (): void => {
    if (over) return
    cut = true
    setTimeout(() => quietly(destroyRest), LAST_SHEDS_MS).unref()
    path.shedAll()
  }
  const destroyRest = (): void => {
    try {
      server.closeAllConnections?.()
      for (const session of sessions) session.destroy()
      for (const socket of [...upgraded, ...sockets]) socket.destroy()
    } finally {
      end()
    }
  }
  // An exception, of the app's own close() for example, would end the process. `look` runs again after LOOK_MS.
  const looks = setInterval(() => quietly(look), LOOK_MS).unref()
  const deadline = setTimeout(() => quietly(timeIsUp), timeoutMs).unref()
  const end = (): void => {
    over = true
    clearInterval(looks)
    clearTimeout(deadline)
    // Cut sockets emit 'close' at the end of a turn. If the app exits earlier, the records of their requests are lost.
    setImmediate(() => setImmediate(() => resolve(!cut)))
  }

  server.once('close', end)
  // A server that never listened emits no 'close', so this checks whether it has ended.
  if (!server.listening) server.getConnections((_error, count) => count > 0 || end())
  quietly(() => path.lastAnswers())
  quietly(look)
  return promise
}

function isEventStream({ current, hasQueue }: Connection<Exchange>): boolean {
  return !hasQueue && current !== undefined && isStreaming(current) && announced(current.response!) === 'events'
}
