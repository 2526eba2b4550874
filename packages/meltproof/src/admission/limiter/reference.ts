/** The first phase of a search: throughput at the limit where it begins has been measured. Pure. */
import { lower, type Measured, OPEN, probe, type SearchTuning, type Step } from './search.ts'

/** `contended`: the search began because requests were seen to wait for each other (contention.ts). */
export function afterReference(measured: Measured, contended: boolean, tuning: SearchTuning): Step {
  // Half of where they are said to begin to wait for each other shows whether they do.
  if (contended) return probe(measured.limit / 2)
  // Where the loop rests it was a burst of work, and nothing else.
  return measured.byLoop ? lower(measured, tuning) : OPEN
}
