/**
 * Draining, in steps:
 *
 * 1. Balancers learn of it: the server serves, but is not ready, and every HTTP/1 answer is the last of its connection.
 * 2. The server stops accepting. Requests that are in service or wait are served, and those that still come on open
 *    connections. Idle connections are closed when their clients may no longer use them.
 * 3. When time is up idle connections are closed, and the rest is shed or cut, upgraded connections as well.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { now } from '../../clock.ts'
import type { Connection } from '../connection/connection.ts'
import { sparing } from '../connection/http-socket.ts'
import { IdleConnections } from '../connection/idle-connections.ts'
import { afterReading } from './after-reading.ts'
import type { OpenSession } from './open-sessions.ts'

export interface Drainable {
  readonly server: Server
  /** What stands between the server and its app. */
  readonly path: {
    readonly connections: { readonly open: Iterable<Connection>; readonly upgraded: Set<Duplex> }
    readonly admission: { readonly activeAt: number; hold(): void; resume(): void }
    lastAnswers(): void
    shedAll(): void
  }
  /** Closes a listening socket beside the main one; false without one. */
  readonly closeLane: () => boolean
  readonly sessions: ReadonlySet<OpenSession>
  /** TLS handshakes that hang end with none of these. */
  readonly sockets: ReadonlySet<Socket>
}

/** How long the server accepts after drain() at most, ms: Kubernetes has told every node within a few seconds. */
const ACCEPT_MS = 5000
/** When no request has come for so long, none is taken to be on the way, ms: Ctrl-C stops an idle server at once. */
const QUIET_MS = 1000
const LOOK_MS = 50
/** Sheds that are being written when time is up get this long, ms. */
const LAST_SHEDS_MS = 100

/** How long the server goes on accepting at most: the other half of the time is for the requests that come last. */
export function longestDelay(timeoutMs: number): number {
  return timeoutMs / 2
}

/**
 * Resolves true when everything ended in time, false when something had to be cut after `timeoutMs`.
 * @param delayMs how long the server goes on accepting; undefined: as long as requests come, up to {@link ACCEPT_MS}
 */
export function drain(drainable: Drainable, timeoutMs: number, delayMs: number | undefined): Promise<boolean> {
  const { server, path, closeLane, sessions, sockets } = drainable
  const { admission: gate } = path
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
    // Node's close() would close everything idle at once.
    if (server.listening) sparing(connections, () => server.close())
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
    // Those that had not begun when it stopped.
    if (!server.listening) stop()
    if (closing || (!server.listening && !idle.hasSome(nowMs, gate.activeAt))) return
    closing = true
    afterReading(gate, closeNext, () => {
      closing = false
    })
  }
  /** Closing takes a moment, and what comes meanwhile is lost: so little at once. False when there is no more. */
  const closeNext = (): boolean => {
    if (server.listening && closeLane()) return true
    const wasListening = server.listening
    stop()
    if (wasListening) return !server.listening
    return idle.closeSome(now(), gate.activeAt)
  }
  const timeIsUp = (): void => {
    stop()
    idle.closeAll()
    // If there were idle connections only, the server closes a moment later and nothing is cut.
    setImmediate(() => setImmediate(carefully(cutRest)))
  }
  const cutRest = (): void => {
    if (over) return
    cut = true
    setTimeout(carefully(destroyRest), LAST_SHEDS_MS).unref()
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
  const looks = setInterval(carefully(look), LOOK_MS).unref()
  const deadline = setTimeout(carefully(timeIsUp), timeoutMs).unref()
  const end = (): void => {
    over = true
    clearInterval(looks)
    clearTimeout(deadline)
    // Sockets that were cut tell so at the end of a turn. Who ends the process now would lose the records of their requests.
    setImmediate(() => setImmediate(() => resolve(!cut)))
  }

  server.once('close', end)
  // One that never listened has no end to wait for.
  if (!server.listening) server.getConnections((_error, count) => count > 0 || end())
  carefully(() => path.lastAnswers())()
  carefully(look)()
  return promise
}

/** These run from timers, where an exception (of an app's own close(), say) would end the process. */
function carefully(act: () => void): () => void {
  return () => {
    try {
      act()
    } catch {
      // The next look tries again; at the end the rest is cut.
    }
  }
}
