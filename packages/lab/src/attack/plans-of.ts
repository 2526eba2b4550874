/** Turns the flags of `meltlab attack` into plans for the load engine: one plan, or one for each step. */
import { availableParallelism } from 'node:os'
import { planOf } from '../load/load-request.ts'
import type { LoadPlan, Tls } from '../load/plan.ts'
import { UserError } from '../user-error.ts'
import { DEFAULTS, type Flags } from './flags.ts'
import type { Targets } from './targets-of.ts'
import { tlsOf } from './tls-files.ts'

/** Connecting takes one round trip; a connection that takes longer than this will not succeed. */
const CONNECT_TIMEOUT_MS = 5000
/** One thread carries about this many requests a second on one core. */
const RATE_PER_THREAD = 60_000
const RATE_PER_THREAD_HTTP2 = 10_000

export async function plansOf(targets: Targets, flags: Flags): Promise<readonly LoadPlan[]> {
  refuseContradictions(flags)
  const tls = await tlsOf(flags)
  return (flags.steps ?? [flags.rate ?? DEFAULTS.rate]).map(rate => onePlan(targets, tls, flags, rate))
}

function refuseContradictions(flags: Flags): void {
  const { users, rate, rampTo, think, steps, fresh, connections, http2, streams } = flags
  if (users !== undefined && (rate !== undefined || steps !== undefined)) {
    throw new UserError(
      `--${steps === undefined ? 'rate' : 'steps'} and --users exclude each other: a rate does not wait for answers, users do.`,
    )
  }
  if (steps !== undefined && (rate !== undefined || rampTo !== undefined)) {
    throw new UserError(`--steps and --${rate === undefined ? 'ramp-to' : 'rate'} exclude each other: steps are rates.`)
  }
  if (users !== undefined && rampTo !== undefined) throw new UserError('--ramp-to needs --rate, not --users.')
  if (users === undefined && think !== undefined) throw new UserError('--think needs --users.')
  if (fresh === true && connections !== undefined) {
    throw new UserError('--fresh and --connections exclude each other: fresh connections are not kept.')
  }
  if (streams !== undefined && (http2 === undefined || fresh === true)) {
    throw new UserError(
      `--streams needs --http2${http2 === undefined ? '' : ' without --fresh, which has one stream per connection'}.`,
    )
  }
}

function onePlan({ list, templated, journey }: Targets, tls: Tls | undefined, flags: Flags, rate: number): LoadPlan {
  const { users, rampTo, duration: durationMs, timeout: timeoutMs, slo: sloMs, spacing } = flags
  const [first, ...others] = list
  // A user holds one connection at a time, so a closed loop never needs more connections than users.
  const count = flags.connections ?? users ?? DEFAULTS.connections
  const max = flags.connections ?? users ?? DEFAULTS.mostConnections
  const needed = Math.ceil(Math.max(rate, rampTo ?? 0) / (flags.http2 ? RATE_PER_THREAD_HTTP2 : RATE_PER_THREAD))
  const spare = Math.max(1, availableParallelism() - 1)
  const threads = flags.threads ?? (users === undefined ? Math.min(Math.max(1, needed), spare, max) : 1)
  const arrival =
    users === undefined ? { rate, ...(rampTo === undefined ? {} : { rampTo }) } : { users, thinkMs: flags.think ?? 0 }
  return {
    ...planOf({ ...first, durationMs, timeoutMs, sloMs, spacing, ...arrival }),
    ...(others.length > 0 ? { others } : {}),
    ...(templated ? { templated } : {}),
    ...(journey === undefined ? {} : { journey }),
    ...(tls === undefined ? {} : { tls }),
    ...(flags.http2 === undefined ? {} : { http2: { streams: flags.streams ?? DEFAULTS.streams } }),
    connections: flags.fresh === true ? { kind: 'fresh' } : { kind: 'keep-alive', count, max },
    connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    threads,
  }
}
