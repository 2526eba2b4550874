/**
 * The readiness page. It stays ready while the server sheds: otherwise the instances of an overloaded fleet would leave
 * rotation one after another, until none is left. It reports the pressure, so that balancers can shift weight.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GuardStats } from '../guard.ts'

export interface ReadinessOptions {
  /** Path of the page, for example `/ready`. */
  readonly path: string
  /** Above this pressure (0 to 1) the page answers 503. @default never */
  readonly unreadyAbovePressure?: number | undefined
}

export function answerReadiness(
  stats: Pick<GuardStats, 'draining' | 'pressure' | 'inflight' | 'queued'>,
  request: IncomingMessage,
  response: ServerResponse,
  unreadyAbovePressure: number = 1,
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
