/** The constants of the concurrency limiter. docs/admission-curves.md has the curve that chose each. */
import type { ContentionTuning } from './contention.ts'
import type { LoopLoadTuning } from './loop-load.ts'
import type { MeasurementTuning } from './measurement.ts'
import type { RestTuning } from './rest.ts'
import type { WaitingTuning } from './waiting-kinds.ts'

export interface LimiterTuning extends LoopLoadTuning, MeasurementTuning, RestTuning, WaitingTuning, ContentionTuning {
  /** The limit before anything was learned. */
  readonly initial: number
  /** Never more in service than this: each holds memory. */
  readonly max: number
  /** After so long without being reached, ms, a limit is forgotten. */
  readonly forgetMs: number
  /** Nobody answered for so long, ms, and for twice the usual service: whatever is behind has come to a halt. */
  readonly idleMs: number
}

export const LIMITER_TUNING: LimiterTuning = {
  initial: 16,
  max: 10_000,
  forgetMs: 5000,
  idleMs: 400,
  // search.ts, rest.ts
  workMs: 50,
  workElsewhereMs: 100,
  fell: 0.85,
  lookEveryMs: 16_000,
  // measurement.ts
  samples: 24,
  maxWindowMs: 1000,
  // loop-load.ts
  loopBusy: 0.9,
  busyWindowMs: 20,
  busyToLimit: 3,
  // waiting-kinds.ts
  promiseMs: 1000,
  patienceMs: 400,
  blindPerMs: 0.25,
  blindMs: 800,
  // contention.ts
  larger: 1.5,
  slower: 0.5,
  atMost: 1.6,
  alike: 0.5,
  clearly: 2,
  least: 8,
  ofThose: 1 / 3,
  missing: 2,
}
