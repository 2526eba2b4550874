/** The constants of the concurrency limiter. `npm run bench:admission` measures what each is worth. */
import type { CohortTuning } from './cohorts.ts'
import type { LoopLimitTuning } from './loop-limit.ts'
import type { MeasurementTuning } from './measurement.ts'
import type { StarvationTuning } from './starvation.ts'

export interface LimiterTuning extends CohortTuning, LoopLimitTuning, MeasurementTuning, StarvationTuning {
  /** Most requests in service: each holds memory. */
  readonly max: number
  /** An answer within this time is in time, ms. */
  readonly promiseMs: number
  /** A limit that was not reached for this long is forgotten, ms. */
  readonly forgetMs: number
  /** The limit holds at least this much work, ms: less gains a latency that no client notices. */
  readonly workMs: number
  /** The first limit is at most this share of those in service, or it would show nothing. */
  readonly firstShare: number
  /** The limit was too low when half of it leaves half of throughput, up to this share. */
  readonly fell: number
  /** The limit rises when Little's law asks for this multiple of it. */
  readonly raised: number
  /** A request counts for this many times what it should take. */
  readonly countedSpans: number
  readonly leastCountedMs: number
}

export const LIMITER_TUNING: LimiterTuning = {
  max: 10_000,
  promiseMs: 1000,
  forgetMs: 5000,
  workMs: 100,
  firstShare: 0.6,
  fell: 0.85,
  raised: 1.2,
  countedSpans: 3,
  leastCountedMs: 300,
  // Cohorts.
  cohort: 5,
  apart: 1.25,
  shows: 0.5,
  matters: 0.02,
  standardErrors: 3,
  // The loop.
  limitsByLoop: true,
  loopBusy: 0.9,
  busyWindowMs: 20,
  busyForMs: 100,
  fewest: 16,
  loopWorkMs: 50,
  lookMs: 16_000,
  grows: 1.5,
  // Measurements.
  samples: 24,
  leastWindowMs: 100,
  maxWindowMs: 1000,
  // Starvation.
  starved: 0.6,
  starvedOf: 24,
  quietTrial: 8,
}
