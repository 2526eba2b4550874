/**
 * What the phases of a search share. Throughput is flat in the limit above a knee (Kleinrock's optimal operating point)
 * and falls below it, so halving the limit finds the knee. Pure.
 */

export interface SearchTuning {
  /** Least work under the limit where the loop is scarce, ms: less saves no latency that a client notices. */
  readonly workMs: number
  /** The same elsewhere: a dependency may do more at higher concurrency, like a database with group commits. */
  readonly workElsewhereMs: number
  readonly loopBusy: number
  /** Throughput below this share of the reference: the limit is below the knee. */
  readonly fell: number
}

export interface Measured {
  readonly limit: number
  readonly rate: number
  readonly busy: number
  readonly byLoop: boolean
}

/** Open: nothing is scarce. Probe: measure at this limit. Rest: this limit stays. */
export type Step =
  | { readonly to: 'open' }
  | { readonly to: 'probe'; readonly limit: number }
  | { readonly to: 'rest'; readonly limit: number }

export const OPEN: Step = { to: 'open' }
export const probe = (limit: number): Step => ({ to: 'probe', limit: Math.max(1, Math.round(limit)) })
export const rest = (limit: number): Step => ({ to: 'rest', limit: Math.max(1, Math.ceil(limit)) })

export function floorOf({ rate, byLoop }: Measured, { workMs, workElsewhereMs }: SearchTuning): number {
  return Math.max(1, Math.round(rate * (byLoop ? workMs : workElsewhereMs)))
}

export function lower(measured: Measured, tuning: SearchTuning): Step {
  const floor = floorOf(measured, tuning)
  const next = Math.max(floor, Math.round(measured.limit / 2))
  return next < measured.limit ? probe(next) : rest(Math.max(floor, measured.limit))
}
