/**
 * What the phases of a search have in common. Throughput X is flat in the limit L from a knee K on (Kleinrock's optimal
 * operating point), so halving L finds K: X stays above the knee and falls below it. Pure.
 */

export interface SearchTuning {
  /**
   * Where the loop is scarce the limit is no lower than this much work, ms (by Little's law that is how long service then
   * takes): less gains a latency that nobody notices, and each turn of the loop costs something however little it serves.
   */
  readonly workMs: number
  /** The same elsewhere: what is behind may do more the more there are, as a database that commits in groups. */
  readonly workElsewhereMs: number
  /** The loop is scarce when it is busy for this share of the time. */
  readonly loopBusy: number
  /** Throughput lower than this share of the reference: the limit is below the knee. */
  readonly fell: number
}

/** A measurement, and the limit it was made under. */
export interface Measured {
  readonly limit: number
  /** Answers per ms. */
  readonly rate: number
  /** Share of the time in which the loop was busy. */
  readonly busy: number
  /** What is scarce is the loop. */
  readonly byLoop: boolean
}

/** What a phase decides after a measurement. */
export type Step =
  /** Nothing is scarce. */
  | { readonly to: 'open' }
  /** Measure at another limit. */
  | { readonly to: 'probe'; readonly limit: number }
  /** The limit is found. */
  | { readonly to: 'rest'; readonly limit: number }

export const OPEN: Step = { to: 'open' }
export const probe = (limit: number): Step => ({ to: 'probe', limit: Math.max(1, Math.round(limit)) })
export const rest = (limit: number): Step => ({ to: 'rest', limit: Math.max(1, Math.ceil(limit)) })

/** The limit that is so much work at this throughput: none lower is worth a look. */
export function floorOf({ rate, byLoop }: Measured, { workMs, workElsewhereMs }: SearchTuning): number {
  return Math.max(1, Math.round(rate * (byLoop ? workMs : workElsewhereMs)))
}

/** Throughput stays: half the limit next. */
export function lower(measured: Measured, tuning: SearchTuning): Step {
  const floor = floorOf(measured, tuning)
  const next = Math.max(floor, Math.round(measured.limit / 2))
  return next < measured.limit ? probe(next) : rest(Math.max(floor, measured.limit))
}
