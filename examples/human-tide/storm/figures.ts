/** What the load counted, as the page shows it. Pure. */

/** Of one stretch of time, of one side. Latencies count from the moment a position was due. */
export interface Counts {
  readonly ms: number
  readonly due: number
  /** Acknowledged with a 2xx: the COMMIT has returned. */
  readonly stored: number
  /** Of those, within a second. */
  readonly inTime: number
  /** 503. */
  readonly shed: number
  /** Everything else: no answer in time, a broken connection, another status. */
  readonly lost: number
  /** How many were answered or given up, by `bucketOf` their latency. */
  readonly latencies: readonly number[]
}

export interface Figures {
  readonly duePerS: number
  readonly storedPerS: number
  readonly inTimePerS: number
  readonly shedPerS: number
  readonly lostPerS: number
  /** Of what was stored or given up; undefined when there was nothing. */
  readonly p99Ms: number | undefined
  readonly state: 'calm' | 'carries' | 'sheds' | 'strains' | 'melts'
}

/** Answers are waited for this long, ms. */
export const PATIENCE_MS = 4000
/** Each bucket is this much wider than the one before: a percentile is right to 5 %. */
const GROWTH = 1.05
export const BUCKETS = 1 + Math.ceil(Math.log(PATIENCE_MS) / Math.log(GROWTH))
/** Rates are those of this long, ms: long enough not to flicker, short enough to follow the slider. */
const WINDOW_MS = 2000
/** A side carries its phones when it stores this share of their positions in time. */
const CARRIED = 0.97
/** It sheds, and does not melt, when this share of what it stores is in time. */
const PROMPT = 0.9

export const bucketOf = (ms: number): number =>
  ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(ms) / Math.log(GROWTH)))
const msOf = (bucket: number): number => Math.min(PATIENCE_MS, GROWTH ** bucket)

/** The last of `counts` that make a window, at least one. */
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
    // A sum of fractions is never quite nothing.
    if (left <= 1e-9) return msOf(bucket)
  }
  return PATIENCE_MS
}
