/**
 * The constants of the concurrency limiter. Each part describes those that it alone uses. `npm run bench:admission`
 * measures what each constant is worth.
 */
export type LimiterTuning = { readonly [name in keyof typeof LIMITER_TUNING]: (typeof LIMITER_TUNING)[name] }

export const LIMITER_TUNING = {
  /** Maximum requests in service: each holds memory. */
  max: 100_000,
  /** An answer within this time counts as in time, ms. */
  promiseMs: 1000,
  /** A limit that was not reached for this long is forgotten, ms. */
  forgetMs: 5000,
  /** The limit admits at least the requests that are answered within this time, ms: less would hardly lower latency. */
  workMs: 100,
  /** So that its effect shows, the first limit is at most this share of those in service, if Little's law allows it. */
  firstShare: 0.6,
  /**
   * Throughput under a lower limit counts as unchanged if at least this share of it remains. The same tolerance applies
   * to throughput that falls in proportion to the limit.
   */
  fell: 0.85,
  /** The limit rises when Little's law gives more than this multiple of it. */
  raised: 1.2,
  /** A request counts for this many times its expected duration, and at least for `leastCountedMs`. */
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
