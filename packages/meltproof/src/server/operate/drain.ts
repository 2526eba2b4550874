/**
 * Draining, in steps:
 *
 * 1. Balancers learn of it: the server serves, but is not ready, and every HTTP/1 answer is the last of its connection.
 * 2. The server stops accepting. Connections that are idle are closed, requests that are in service or wait are served.
 * 3. When time is up the rest is shed or cut, upgraded connections as well.
 */
import type { Server } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { now } from '../../clock.ts'
import type { Connection } from '../connection/connection.ts'
import { sparing } from '../connection/http-socket.ts'
import { IdleConnections } from '../connection/idle-connections.ts'

export interface Drainable {
  readonly server: Server
  /** What stands between the server and its app. */
  readonly interceptor: {
    readonly parser: { readonly connections: Iterable<Connection>; readonly upgraded: Set<Duplex> }
    readonly gate: { readonly activeAt: number }
    lastAnswers(): void
    shedAll(): void
  }
  readonly sessions: ReadonlySet<ServerHttp2Session>
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
  const { server, interceptor, sessions, sockets } = drainable
  const { connections, upgraded } = interceptor.parser
  const activeAt = (): number => interceptor.gate.activeAt
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const beganAt = now()
  const acceptMs = Math.min(delayMs ?? ACCEPT_MS, longestDelay(timeoutMs))
  const quietMs = Math.min(QUIET_MS, longestDelay(timeoutMs))
  const idle = new IdleConnections(server, connections, activeAt())
  let accepting = true
  let over = false
  let cut = false

  const closeIdle = (sinceMs: number): void => {
    idle.look(now())
    for (const session of sessions) if (!session.closed) session.close()
    idle.close(sinceMs)
  }
  const close = (): void => {
    // Node's close() would close everything idle at once.
    if (server.listening) sparing(connections, () => server.close())
  }
  const look = (): void => {
    const nowMs = now()
    idle.look(nowMs)
    const quiet = delayMs === undefined && nowMs - activeAt() >= quietMs
    if (accepting && !quiet && nowMs - beganAt < acceptMs) return
    accepting = false
    afterReading(activeAt, () => {
      close()
      closeIdle(now() - quietMs)
    })
  }
  const timeIsUp = (): void => {
    close()
    closeIdle(now())
    // If there were idle connections only, the server closes a moment later and nothing is cut.
    setImmediate(() => setImmediate(carefully(cutRest)))
  }
  const cutRest = (): void => {
    if (over) return
    cut = true
    setTimeout(carefully(destroyRest), LAST_SHEDS_MS).unref()
    interceptor.shedAll()
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
    resolve(!cut)
  }

  server.once('close', end)
  // One that never listened has no end to wait for.
  if (!server.listening) server.getConnections((_error, count) => count > 0 || end())
  carefully(() => interceptor.lastAnswers())()
  carefully(look)()
  return promise
}

/**
 * Runs `act` after a turn of the event loop in which nothing came: then all that had reached the kernel has been read. A
 * socket destroyed with unread bytes loses a request; a listening one resets the connections that wait in it.
 */
function afterReading(activeAt: () => number, act: () => void, turns = MOST_TURNS): void {
  const beganAt = now()
  const activeBefore = activeAt()
  setImmediate(() => {
    const empty = activeAt() === activeBefore && now() - beganAt < EMPTY_TURN_MS
    if (empty || turns === 1) carefully(act)()
    else afterReading(activeAt, act, turns - 1)
  })
}

/** A turn of an event loop that had next to nothing to do takes less, ms. */
const EMPTY_TURN_MS = 0.5
/** A server without such a turn gets the last of so many. One takes 0.02 ms when there is nothing to do. */
const MOST_TURNS = 50

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
