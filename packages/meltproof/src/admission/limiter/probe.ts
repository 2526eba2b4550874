/** The phase in which a lower limit is tried: throughput under it has been measured. Pure. */
import { floorOf, lower, type Measured, OPEN, rest, type SearchTuning, type Step } from './search.ts'

/**
 * A knee no further below the reference than this: throughput is in proportion to the limit, and nothing is scarce. Unless
 * the reference was made by a knee itself, and is not far above it.
 */
const PROPORTION = 0.8

/** What throughput is compared with: the best there was at the higher limits. */
export interface Reference {
  rate: number
  readonly limit: number
}

export function afterProbe(measured: Measured, reference: Reference, contended: boolean, tuning: SearchTuning): Step {
  const { limit, rate, busy, byLoop } = measured
  reference.rate = Math.max(rate, reference.rate)
  // A loop that is as busy as before does as much as before, whatever the mix of cheap and heavy requests is by now.
  const kept = byLoop ? busy / tuning.loopBusy : rate / (tuning.fell * reference.rate)
  if (kept >= 1) return lower(measured, tuning)
  if (byLoop) return rest(Math.max(floorOf(measured, tuning), (2 * limit) / busy))
  // Where throughput ceases to be in proportion to the limit.
  const knee = (limit * reference.rate) / rate
  if (knee >= (contended ? PROPORTION : 1) * reference.limit) return OPEN
  // No more above the knee than may be in service anyway, or all would wait for a slow service twice.
  const above = Math.min(knee, reference.rate * tuning.workElsewhereMs)
  return rest(Math.max(floorOf({ ...measured, rate: reference.rate }, tuning), knee + above))
}
