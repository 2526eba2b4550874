/** Turns the counts of the load into the figures that the page shows. Pure functions. */

/** Counts of one side during one interval. Latencies are measured from the moment at which a position was due. */
export interface Counts {
  readonly ms: number
  readonly due: number
  /** Acknowledged with a 200, which the service sends after the COMMIT. */
  readonly stored: number
  /** Stored within a second of when they were due. */
  readonly inTime: number
  /** Answered with a 503. */
  readonly shed: number
  /** All others: no answer in time, no connection, a broken connection, or another status. */
  readonly lost: number
  /** Numbers of stored and lost positions by latency (`bucketOf`). Those that found no connection are left out. */
  readonly latencies: readonly number[]
}

export interface Figures {
  readonly duePerS: number
  readonly storedPerS: number
  readonly inTimePerS: number
  readonly shedPerS: number
  readonly lostPerS: number
  /** Of stored and lost positions; undefined if there were none. */
  readonly p99Ms: number | undefined
  readonly state: 'calm' | 'carries' | 'sheds' | 'strains' | 'melts'
}

/** The load waits this long for an answer, ms. */
export const PATIENCE_MS = 4000
/** Ratio of a bucket's upper bound to that of the bucket before; percentiles are accurate to 5 %. */
const GROWTH = 1.05
export const BUCKETS = 1 + Math.ceil(Math.log(PATIENCE_MS) / Math.log(GROWTH))
/** Rates are averaged over this time, ms: long enough not to flicker, short enough to follow the slider. */
const WINDOW_MS = 2000
/** Minimum share of the due positions that a side stores in time, for the state 'carries'. */
const CARRIED = 0.97
/** Minimum share of the stored positions that is in time, for the state 'sheds'. */
const PROMPT = 0.9

export const bucketOf = (ms: number): number =>
  ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(ms) / Math.log(GROWTH)))
const msOf = (bucket: number): number => Math.min(PATIENCE_MS, GROWTH ** bucket)

/** Returns the latest counts that together span {@link WINDOW_MS}. */
export function recent(counts: readonly Counts[]): readonly Counts[] {
  let ms = 0
  let from = counts.length
  while (from > 0 && ms < WINDOW_MS) ms += counts[--from]!.ms
  return counts.slice(from)
}

export function figuresOf(counts: readonly Counts[]): Figures {
  const sum = (of: (each: Counts) => number): number => counts.reduce((total, each) => total + of(each), 0)
  const ms = sum(each => each.ms)
  const perS = (of: (each: Counts) => number): number => (ms === 0 ? 0 : (sum(of) * 1000) / ms)
  const [due, stored, inTime] = [sum(each => each.due), sum(each => each.stored), sum(each => each.inTime)]
  return {
    duePerS: perS(each => each.due),
    storedPerS: perS(each => each.stored),
    inTimePerS: perS(each => each.inTime),
    shedPerS: perS(each => each.shed),
    lostPerS: perS(each => each.lost),
    p99Ms: percentile(counts, 0.99),
    state: stateOf(
      due,
      stored,
      inTime,
      sum(each => each.shed),
    ),
  }
}

function stateOf(due: number, stored: number, inTime: number, shed: number): Figures['state'] {
  if (due === 0) return 'calm'
  if (inTime >= due * CARRIED) return 'carries'
  if (shed > 0 && inTime > 0 && inTime >= stored * PROMPT) return 'sheds'
  return inTime >= due / 2 ? 'strains' : 'melts'
}

function percentile(counts: readonly Counts[], share: number): number | undefined {
  const buckets = Array.from({ length: BUCKETS }, (_, bucket) =>
    counts.reduce((total, { latencies }) => total + (latencies[bucket] ?? 0), 0),
  )
  let left = buckets.reduce((total, count) => total + count, 0) * share
  if (left === 0) return undefined
  for (const [bucket, count] of buckets.entries()) {
    left -= count
    // Rounding may leave a remainder just above zero.
    if (left <= 1e-9) return msOf(bucket)
  }
  return PATIENCE_MS
}
