/** The phase that tries a lower limit: throughput under it was measured. Pure. */
import { floorOf, lower, type Measured, OPEN, rest, type SearchTuning, type Step } from './search.ts'

/** With contention, a knee above this share of the reference limit means that nothing is scarce. Otherwise it is 1. */
const PROPORTION = 0.8

export interface Reference {
  rate: number
  readonly limit: number
}

export function afterProbe(measured: Measured, reference: Reference, contended: boolean, tuning: SearchTuning): Step {
  const { limit, rate, busy, byLoop } = measured
  reference.rate = Math.max(rate, reference.rate)
  // A loop as busy as before does as much as before, whatever the mix of cheap and heavy requests.
  const kept = byLoop ? busy / tuning.loopBusy : rate / (tuning.fell * reference.rate)
  if (kept >= 1) return lower(measured, tuning)
  if (byLoop) return rest(Math.max(floorOf(measured, tuning), (2 * limit) / busy))
  const knee = (limit * reference.rate) / rate
  if (knee >= (contended ? PROPORTION : 1) * reference.limit) return OPEN
  // No more above the knee than the least work, or every request would wait twice as long for a slow service.
  const above = Math.min(knee, reference.rate * tuning.workElsewhereMs)
  return rest(Math.max(floorOf({ ...measured, rate: reference.rate }, tuning), knee + above))
}
