/** The constants of the concurrency limiter. docs/admission-curves.md has the curve behind each. */
import type { ContentionTuning } from './contention.ts'
import type { LoopLoadTuning } from './loop-load.ts'
import type { MeasurementTuning } from './measurement.ts'
import type { RestTuning } from './rest.ts'
import type { WaitingTuning } from './waiting-kinds.ts'

export interface LimiterTuning extends LoopLoadTuning, MeasurementTuning, RestTuning, WaitingTuning, ContentionTuning {
  /** The limit before anything is learned. */
  readonly initial: number
  /** Most requests in service: each holds memory. */
  readonly max: number
  /** A limit that is not reached for this long, ms, is forgotten. */
  readonly forgetMs: number
  /** No answer for this long, ms, and for twice the mean service time: the dependency has halted. */
  readonly idleMs: number
}

export const LIMITER_TUNING: LimiterTuning = {
  initial: 16,
  max: 10_000,
  forgetMs: 5000,
  idleMs: 400,
  workMs: 50,
  workElsewhereMs: 100,
  fell: 0.85,
  lookEveryMs: 16_000,
  samples: 24,
  maxWindowMs: 1000,
  loopBusy: 0.9,
  busyWindowMs: 20,
  busyToLimit: 3,
  promiseMs: 1000,
  patienceMs: 400,
  blindPerMs: 0.25,
  blindMs: 800,
  larger: 1.5,
  slower: 0.5,
  atMost: 1.6,
  alike: 0.5,
  clearly: 2,
  least: 8,
  ofThose: 1 / 3,
  missing: 2,
  soonMs: 33,
}
