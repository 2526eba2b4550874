/** Turns the measurements that melt needs into plans for the load engine. Pure. */
import { HIGHEST_RATE } from '../load/check-plan.ts'
import { planOf } from '../load/load-request.ts'
import type { Connections, LoadPlan } from '../load/plan.ts'
import { hasFields } from '../load/template.ts'
import type { MeltOptions } from './options.ts'

export type Target = Pick<
  MeltOptions,
  'method' | 'headers' | 'body' | 'tls' | 'timeoutMs' | 'sloMs' | 'fresh' | 'connections' | 'spacing'
> & { readonly url: string }

/** Clients rarely keep fewer connections than this, and this number costs a server nothing. */
const fewestConnections = 200
/** A melting server needs several seconds for one request on each of these connections. */
const mostConnections = 1500
/** Opening a connection takes about 50 us of the lab's core. Far below usual limits of files and of ephemeral ports. */
const connectionCeiling = 8_000

/** The multiples of a capacity that can be offered. */
export const offerable = (
  multiples: readonly number[],
  capacity: number,
  { mostRate = HIGHEST_RATE, goodShare = 1 }: { readonly mostRate?: number; readonly goodShare?: number } = {},
): readonly number[] =>
  multiples.filter(multiple => multiple * capacity <= Math.min(mostRate, HIGHEST_RATE * goodShare))

/** Offers `rate` for `durationMs`, whatever the server does. */
export function offer(target: Target, rate: number, durationMs: number, crowd = false): LoadPlan {
  const { connections: _, ...request } = target
  const connections = connectionsFor(target, rate)
  return {
    ...planOf({ ...request, ...fieldsOf(target), rate, durationMs }),
    connections: crowd && connections.kind === 'keep-alive' ? { ...connections, newestFirst: true } : connections,
  }
}

/** `users` who each wait for their answer before the next request. */
export function probe({ connections: _, ...target }: Target, users: number, durationMs: number): LoadPlan {
  return planOf({ ...target, ...fieldsOf(target), users, durationMs })
}

const fieldsOf = ({ url }: Pick<Target, 'url'>): { readonly templated?: true } =>
  hasFields(url) ? { templated: true } : {}

/** The set can grow to rate x timeout, up to `connectionCeiling`: a smaller set would protect a melting server. */
export function connectionsFor(
  { fresh, connections, timeoutMs }: Pick<Target, 'fresh' | 'connections' | 'timeoutMs'>,
  rate: number,
): Connections {
  if (fresh) return { kind: 'fresh' }
  const count = connections ?? Math.min(mostConnections, Math.max(fewestConnections, Math.ceil(rate)))
  const held = Math.ceil((rate * timeoutMs) / 1000)
  return { kind: 'keep-alive', count, max: Math.max(count, Math.min(connectionCeiling, held)) }
}
