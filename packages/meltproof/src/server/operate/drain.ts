/**
 * Draining, in steps:
 *
 * 1. Balancers learn of it: the server still accepts and serves, but is not ready any more (readiness.ts), and every
 *    HTTP/1 answer is the last one of its connection.
 * 2. The server stops accepting. HTTP/2 clients are told to open no more streams, connections that are idle are closed,
 *    everybody who is in service or waits is served.
 * 3. What has not ended when time is up is shed or cut, upgraded connections as well.
 *
 * The process that has nothing else to do then exits by itself.
 */
import type { Server } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import type { Duplex } from 'node:stream'
import { now } from '../../clock.ts'
import type { Connection } from '../connection/connection.ts'
import { sparing } from '../connection/http-socket.ts'
import { IdleConnections } from '../connection/idle-connections.ts'

export interface Drainable {
  readonly server: Server
  /** Open HTTP/1 connections. */
  readonly connections: Iterable<Connection>
  /** Open HTTP/2 sessions: told to take no more streams, and cut with the rest. */
  readonly sessions: ReadonlySet<ServerHttp2Session>
  /** What neither of these ends: connections given away by 'upgrade' and 'connect', TLS handshakes that hang. */
  readonly sockets: () => Iterable<Duplex>
  /** When a connection or a request last came, or a request ended, ms. */
  readonly activeAt: () => number
  /** From now on every HTTP/1 answer that begins is the last one of its connection. */
  readonly lastAnswers: () => void
  /** Sheds whoever waits, and whoever comes. */
  readonly shedRest: () => void
}

/**
 * How long the server accepts at most after drain(), ms, when the operator has not said how long. Kubernetes, which
 * stops sending at the same time as it sends SIGTERM, has told every node within a few seconds; the usual advice is to
 * go on for 5.
 */
const ACCEPT_MS = 5000
/**
 * When nobody has come for so long nobody is taken to be on the way: who has only just finished gets the time to ask again,
 * and a Ctrl-C in front of an idle server is instant, ms.
 */
const QUIET_MS = 1000
/** How often it is looked whether the next step is due, ms. */
const LOOK_MS = 50
/** Sheds that are being written when time is up get this long, ms. */
const LAST_WORDS_MS = 100

/** How long the server goes on accepting at most: half the time, so that the rest is left for who comes last. */
export function longestDelay(timeoutMs: number): number {
  return timeoutMs / 2
}

/**
 * Resolves true when everything ended in time, false when something had to be cut after `timeoutMs`.
 * @param delayMs how long the server goes on accepting; undefined: as long as requests come, up to {@link ACCEPT_MS}
 */
export function drain(drainable: Drainable, timeoutMs: number, delayMs: number | undefined): Promise<boolean> {
  const { server, connections, sessions, activeAt } = drainable
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const beganAt = now()
  const acceptMs = Math.min(delayMs ?? ACCEPT_MS, longestDelay(timeoutMs))
  const quietMs = Math.min(QUIET_MS, longestDelay(timeoutMs))
  const idle = new IdleConnections(server, connections, activeAt())
  let accepting = true
  let over = false
  let cut = false

  /** Whatever was noted as idle before `sinceMs` ends, and sessions as soon as their streams have. */
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
    // Nothing was cut if idle connections were all there was, and the server says so a moment later.
    setImmediate(() => setImmediate(carefully(cutRest)))
  }
  const cutRest = (): void => {
    if (over) return
    cut = true
    setTimeout(carefully(destroyRest), LAST_WORDS_MS).unref()
    drainable.shedRest()
  }
  const destroyRest = (): void => {
    try {
      server.closeAllConnections?.()
      for (const session of sessions) session.destroy()
      for (const socket of drainable.sockets()) socket.destroy()
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
  carefully(drainable.lastAnswers)()
  carefully(look)()
  return promise
}

/**
 * Runs `act` after a turn of the event loop in which nobody came and that took next to no time, so that what had reached
 * the kernel has been read: a socket destroyed with unread bytes loses a request, a listening one with connections that
 * wait (it accepts one a turn) resets them. A server that has no such turn gets the last of {@link MOST_TURNS}.
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
/** One takes 0.02 ms when there is nothing to do. */
const MOST_TURNS = 50

/** These run from timers, where an exception (of an app's own close(), say) would end the process. Time goes on. */
function carefully(act: () => void): () => void {
  return () => {
    try {
      act()
    } catch {
      // The next look tries again; at the end the rest is cut.
    }
  }
}
