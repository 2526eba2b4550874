/** The first phase of a search: throughput at its first limit was measured. Pure. */
import { lower, type Measured, OPEN, probe, type SearchTuning, type Step } from './search.ts'

export function afterReference(measured: Measured, contended: boolean, tuning: SearchTuning): Step {
  // Throughput at half of this limit, below the suspected knee, shows whether they do.
  if (contended) return probe(measured.limit / 2)
  return measured.byLoop ? lower(measured, tuning) : OPEN
}
