/**
 * The growth of a series of samples from its first to its last: the median of the slopes between any two, times the
 * number of intervals (Theil 1950, Sen 1968). Garbage that waits for the next collection rises and falls, and must
 * neither count as growth nor hide it; a leak only grows. 0 for less than two samples.
 */
export function growth(samples: readonly number[]): number {
  const slopes = samples.flatMap((from, i) => samples.slice(i + 1).map((to, n) => (to - from) / (n + 1)))
  slopes.sort((a, b) => a - b)
  return slopes.length === 0 ? 0 : slopes[slopes.length >> 1]! * (samples.length - 1)
}
