/**
 * The readiness page. It stays ready while shedding: a fleet over its capacity must not take itself out of rotation,
 * instance by instance, until none is left. It tells the pressure, so that weight can be shifted.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GuardStats } from '../guard.ts'

export interface ReadinessOptions {
  /** Path it is served at, for example `/ready`. */
  readonly path: string
  /** Above this pressure (0 to 1) it says 503. @default never */
  readonly unreadyAbovePressure?: number | undefined
}

export function answerReadiness(
  { unreadyAbovePressure = 1 }: ReadinessOptions,
  stats: Pick<GuardStats, 'draining' | 'pressure' | 'inflight' | 'queued'>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { draining, inflight, queued } = stats
  const ready = !draining && stats.pressure <= unreadyAbovePressure
  const pressure = Math.round(stats.pressure * 1000) / 1000
  const body = JSON.stringify({ ready, draining, pressure, inflight, queued })
  response.writeHead(ready ? 200 : 503, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
