/**
 * Draining: the server stops taking connections, everybody who is in service or waits is served, idle connections are
 * closed, and what has not ended in time is cut. The process that has nothing else to do then exits by itself.
 */
import type { Server } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'

export interface Drainable {
  readonly server: Server
  /** Open HTTP/2 sessions: told to take no more streams, and cut with the rest. */
  readonly sessions: ReadonlySet<ServerHttp2Session>
  /** Sheds whoever waits, and whoever comes. */
  readonly shedRest: () => void
}

/** Connections that became idle are closed this often, ms. Node itself closes only those idle at close(). */
const SWEEP_MS = 50
/** Sheds that are being written when time is up get this long, ms. */
const LAST_WORDS_MS = 100

/** Resolves true when everything ended in time, false when something had to be cut after `timeoutMs`. */
export function drain({ server, sessions, shedRest }: Drainable, timeoutMs: number): Promise<boolean> {
  return new Promise(resolve => {
    let cut = false
    const sweep = setInterval(() => server.closeIdleConnections?.(), SWEEP_MS).unref()
    const end = setTimeout(() => {
      // Else the server would have closed by now: idle connections do not hold it.
      cut = true
      shedRest()
      setTimeout(() => {
        server.closeAllConnections?.()
        for (const session of sessions) session.destroy()
        ended()
      }, LAST_WORDS_MS).unref()
    }, timeoutMs).unref()
    const ended = (): void => {
      clearInterval(sweep)
      clearTimeout(end)
      resolve(!cut)
    }
    for (const session of sessions) session.close()
    if (server.listening) server.close(ended)
    else ended()
  })
}
