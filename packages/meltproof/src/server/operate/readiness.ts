/**
 * The readiness page: what a balancer or an orchestrator asks. It stays ready while shedding, because a fleet over its
 * capacity must not take itself out of rotation, instance by instance, until none is left; it tells the pressure, so
 * that weight can be shifted. Not ready while draining, and above `unreadyAbovePressure` for those who want that.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface ReadinessOptions {
  /** Path it is served at, for example `/ready`. */
  readonly path: string
  /** Above this pressure (0 to 1) it says 503. @default never */
  readonly unreadyAbovePressure?: number | undefined
}

export interface ReadinessState {
  readonly draining: boolean
  readonly pressure: number
  readonly inflight: number
  readonly queued: number
}

export function answerReadiness(
  options: ReadinessOptions,
  state: ReadinessState,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const ready = !state.draining && state.pressure <= (options.unreadyAbovePressure ?? 1)
  const body = JSON.stringify({
    ready,
    draining: state.draining,
    pressure: Math.round(state.pressure * 1000) / 1000,
    inflight: state.inflight,
    queued: state.queued,
  })
  response.writeHead(ready ? 200 : 503, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
