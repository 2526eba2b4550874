/** The classes into which durations are counted. Pure. */

/** Boundaries that OpenTelemetry's HTTP conventions prescribe for durations, seconds. */
export const DURATION_BOUNDARIES_S: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]

/** The first boundary that is not below `value`; their number when there is none. */
export function bucketOf(value: number, boundaries: readonly number[]): number {
  let bucket = 0
  while (bucket < boundaries.length && value > boundaries[bucket]!) bucket++
  return bucket
}
