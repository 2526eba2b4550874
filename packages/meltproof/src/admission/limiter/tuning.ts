/** The constants of the concurrency limiter. `npm run bench:admission` measures what each is worth. */
import type { CohortTuning } from './cohorts.ts'
import type { LoopLimitTuning } from './loop-limit.ts'
import type { MeasurementTuning } from './measurement.ts'
import type { StarvationTuning } from './starvation.ts'

export interface LimiterTuning extends CohortTuning, LoopLimitTuning, MeasurementTuning, StarvationTuning {
  /** Maximum requests in service: each holds memory. */
  readonly max: number
  /** An answer within this time counts as in time, ms. */
  readonly promiseMs: number
  /** A limit that was not reached for this long is forgotten, ms. */
  readonly forgetMs: number
  /** The limit admits at least the requests that are answered within this time, ms: less would hardly lower latency. */
  readonly workMs: number
  /** So that its effect shows, the first limit is at most this share of those in service, if Little's law allows it. */
  readonly firstShare: number
  /**
   * Throughput under a lower limit counts as unchanged if at least this share of it remains. The same tolerance applies
   * to throughput that falls in proportion to the limit.
   */
  readonly fell: number
  /** The limit rises when Little's law gives more than this multiple of it. */
  readonly raised: number
  /** A request counts for this many times its expected duration, and at least for `leastCountedMs`. */
  readonly countedSpans: number
  readonly leastCountedMs: number
}

export const LIMITER_TUNING: LimiterTuning = {
  max: 100_000,
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
