/** A short description of a load, and the plan that it becomes with the lab's defaults. Pure. */
import type { Connections, LoadPlan, Phase, Spacing, Tls } from './plan.ts'

/** The default method is GET. */
interface Common extends Partial<Pick<LoadPlan, 'method' | 'headers' | 'body' | 'templated' | 'acknowledged'>> {
  readonly url: string
  readonly durationMs: number
  readonly tls?: Tls | undefined
  /** @default 60 s: scenarios measure how long requests take, and should not cut them off */
  readonly timeoutMs?: number
  /** @default 1 s */
  readonly sloMs?: number
  /** @default 'even' */
  readonly spacing?: Spacing
  readonly fresh?: boolean
  /** True if the figures are discarded, so that doubts about them do not count. */
  readonly warmUp?: boolean
}

/** `users` who each wait for their answer, or `rate` arrivals per second whatever the server does. */
export type LoadRequest = Common &
  (
    | { readonly users: number; readonly thinkMs?: number; readonly rate?: never }
    | { readonly rate: number; readonly rampTo?: number; readonly connections?: number; readonly users?: never }
  )

const usualTimeoutMs = 60_000
const usualSloMs = 1000
/** Far below the number of ephemeral ports (28,000). */
const connectionCeiling = 15_000

export function planOf(request: LoadRequest): LoadPlan {
  const { url, durationMs, timeoutMs = usualTimeoutMs, sloMs = usualSloMs } = request
  return {
    url,
    method: request.method ?? 'GET',
    headers: request.headers ?? {},
    body: request.body,
    arrival:
      request.users === undefined
        ? {
            kind: 'open',
            schedule: {
              phases: [phaseOf(request.rate, request.rampTo, durationMs)],
              spacing: request.spacing ?? 'even',
              seed: 1, // The same arrivals for every arm.
            },
          }
        : { kind: 'closed', users: request.users, durationMs, thinkMs: request.thinkMs ?? 0 },
    connections: connectionsOf(request),
    timeoutMs,
    connectTimeoutMs: timeoutMs,
    sloMs,
    threads: 1, // The generator has one core.
    ...(request.tls === undefined ? {} : { tls: request.tls }),
    ...(request.templated === undefined ? {} : { templated: request.templated }),
    ...(request.acknowledged === undefined ? {} : { acknowledged: request.acknowledged }),
  }
}

function phaseOf(rate: number, rampTo: number | undefined, durationMs: number): Phase {
  if (rampTo === undefined) return { kind: 'constant', rate, durationMs }
  return { kind: 'ramp', fromRate: rate, toRate: rampTo, durationMs }
}

function connectionsOf(request: LoadRequest): Connections {
  if (request.fresh === true) return { kind: 'fresh' }
  if (request.users !== undefined) return { kind: 'keep-alive', count: request.users, max: request.users }
  const count = request.connections ?? Math.min(1000, Math.max(50, Math.ceil(request.rate / 4)))
  return { kind: 'keep-alive', count, max: Math.max(count, connectionCeiling) }
}
