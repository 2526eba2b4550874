/**
 * The constants of the concurrency limiter (concurrency-limiter.ts and its parts). docs/admission.md has the curves that
 * chose them.
 */
import type { LoopLoadTuning } from './loop-load.ts'
import type { WaitingTuning } from './waiting-kinds.ts'

export interface LimiterTuning extends LoopLoadTuning, WaitingTuning {
  /** The limit before anything was learned. */
  readonly initial: number
  /** Never more in service than this: each holds memory. */
  readonly max: number
  /**
   * Where the loop is scarce the limit is no lower than this much work, ms (by Little's limiter that is how long service then
   * takes): less gains a latency that nobody notices, and each turn of the loop costs something however little it serves.
   */
  readonly workMs: number
  /** The same elsewhere: what is behind may do more the more there are, as a database that commits in groups. */
  readonly workElsewhereMs: number
  /** Answers a measurement needs, so that its noise is below the differences that are looked for. */
  readonly samples: number
  /** No measurement is longer, ms, unless a single service is. */
  readonly maxWindowMs: number
  /** X lower than this share of the reference: L is below the knee. */
  readonly fell: number
  /** How long a limit is trusted before half of it is tried again, ms. */
  readonly lookEveryMs: number
  /** A look that keeps everybody out for longer is given up, ms. */
  readonly probeMs: number
  /** After so long without binding, ms, a limit is forgotten. */
  readonly forgetMs: number
  /** Nobody answered for so long, ms, and for twice the usual service: a halt. */
  readonly haltMs: number
  /** How long contention is not believed once it was found not to be, ms; twice as long each time in a row. */
  readonly distrustMs: number
}

export const LIMITER_TUNING: LimiterTuning = {
  initial: 16,
  max: 10_000,
  workMs: 50,
  workElsewhereMs: 100,
  samples: 24,
  maxWindowMs: 1000,
  fell: 0.85,
  lookEveryMs: 16_000,
  probeMs: 1000,
  forgetMs: 5000,
  haltMs: 400,
  distrustMs: 2000,
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
