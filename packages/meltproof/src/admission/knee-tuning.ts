/** The constants of the limit law (knee-law.ts). docs/admission.md has the curves that chose them. */

/** Tuning of the law. */
export interface KneeTuning {
  /** The limit before anything was learned. */
  readonly initial: number
  /** Never more in service than this: each holds memory. */
  readonly max: number
  /**
   * L = K * headroom, rounded up: variance of service times must not idle the scarce resource. But while the loop rests no
   * more above K than {@link workElsewhereMs} or the root of K: where service takes long, twice as long would be too long
   * for anybody who waits.
   */
  readonly headroom: number
  /**
   * The limit is no lower than this much work in service, ms (by Little's law that is how long service then takes): less
   * gains a latency that nobody notices. And it costs: each turn of the loop takes something however little it serves,
   * and requests are turned away more cheaply in batches.
   */
  readonly workMs: number
  /** The same while the loop rests: what is behind may do more the more there are, as a database that commits in groups. */
  readonly workElsewhereMs: number
  /** A request that spends less than this in service does not count when throughput is measured, ms. */
  readonly tooShortMs: number
  /** Completions a measurement needs, so that its noise is below the differences the law looks for. */
  readonly samples: number
  /** No measurement is shorter, ms: timers and garbage collection would dominate it. */
  readonly minWindowMs: number
  /** No measurement is longer, ms, unless a single service takes longer. */
  readonly maxWindowMs: number
  /** How long a steady limit is trusted before the law looks below it again, ms. */
  readonly lookEveryMs: number
  /** After so long without binding, ms, what was learned may be another traffic's: growth is tried before it is used. */
  readonly forgetMs: number

  // What growth and measurements are judged by.

  /** Above this share of busy time the loop itself is the scarce resource, and more concurrency can not help. */
  readonly loopBusy: number
  /** The loop's business is judged over no less than this, ms. */
  readonly busyWindowMs: number
  /** After so many busy windows in a row growth is no excuse for a queue any more. */
  readonly busyToStand: number
  /** Service times whose standard deviation is below this share of their mean are alike. */
  readonly alike: number
  /** X lower than this share of the reference means that L is below the knee. */
  readonly fell: number
  /** A limit this much larger than the last one judged is judged by how service times took it. */
  readonly larger: number
  /** Service times that rise by more than this share of what the limit rose by: requests stand in each other's way. */
  readonly slower: number
  /** More time was spent in service than those who completed account for, by this factor: the slow ones are missing. */
  readonly missing: number
  /** By so many standard errors a mean must be larger before so few completions are believed. */
  readonly clearly: number
  /** A search starts so many standard errors above where growth says the knee is. */
  readonly unsure: number
  /** After so many completions a mean is believed whatever its error. */
  readonly many: number
  /** Two knees nearer than this (natural logarithm; a factor of 1.35) are the same. */
  readonly sameKnee: number
  /** A knee found again and again is trusted for up to so many times as long as one just found. */
  readonly mostTrust: number
  /** So many measurements in a row make a change; one is noise. */
  readonly changes: number
  /** Mean service time is compared over at least this many completions. */
  readonly growthBatch: number
  /**
   * Up to this limit a search is quick: growth ends as soon as the loop is busy, and the search starts low. With more in
   * service the loop must have been busy so many times in a row, and the search starts where growth ended.
   */
  readonly searchAtOnce: number
  /** See above. */
  readonly busyStreak: number
  /** While a lower limit keeps everybody out, so many ms must see this share of those above it leave; or the look ends. */
  readonly patienceMs: number
  /** See above. */
  readonly leaving: number
  /**
   * When nobody has left for so long, ms, though the loop rests, those in service wait for something that takes long, and
   * keeping others out gains nobody anything: the limit grows without them.
   */
  readonly outlastMs: number
  /** By this factor each time. */
  readonly outlastBy: number
  /** Up to this limit: what has come to a halt must not find thousands in front of it when it goes on. */
  readonly outlastMost: number
  /** The same where service is known to be quicker: something has come to a halt, or slow ones hold all the permits. */
  readonly haltMs: number
  /** See above. */
  readonly haltBy: number
  /** Up to so many times the limit it had, until somebody who came later is answered: then it is no halt. */
  readonly haltMost: number
}

export const KNEE_TUNING: KneeTuning = {
  initial: 16,
  max: 10_000,
  headroom: 2,
  workMs: 50,
  workElsewhereMs: 100,
  tooShortMs: 2,
  samples: 24,
  minWindowMs: 40,
  maxWindowMs: 1000,
  lookEveryMs: 4000,
  forgetMs: 5000,
  loopBusy: 0.9,
  busyWindowMs: 20,
  busyToStand: 3,
  alike: 0.5,
  fell: 0.85,
  larger: 1.3,
  slower: 0.6,
  missing: 3,
  clearly: 2,
  unsure: 6,
  many: 200,
  sameKnee: 0.3,
  mostTrust: 4,
  changes: 2,
  growthBatch: 8,
  searchAtOnce: 48,
  busyStreak: 15,
  patienceMs: 300,
  leaving: 0.1,
  outlastMs: 150,
  outlastBy: 2,
  outlastMost: 160,
  haltMs: 400,
  haltBy: 1.5,
  haltMost: 4,
}
