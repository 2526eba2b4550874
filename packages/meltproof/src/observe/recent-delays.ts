/** Stores how long due work waited for the event loop in the last minute. Any number of readers may read this. Pure. */

/** In seconds. */
export type LoopDelay = Readonly<Record<'min' | 'max' | 'mean' | 'stddev' | 'p50' | 'p90' | 'p99', number>>

const STRETCH_MS = 10_000
/** Number of ten-second intervals: the last minute, plus the current one. */
const STRETCHES = 7
/** Buckets per doubling of the delay: percentiles are accurate to 5 %. */
const FINENESS = 8
/** Buckets start at one microsecond; the last one holds everything above an hour. */
const BUCKETS = 256

export class RecentDelays {
  readonly #stretches = Array.from({ length: STRETCHES }, () => new Stretch(Number.NEGATIVE_INFINITY))

  /** @param times how many pieces of work waited for `delayMs` */
  add(nowMs: number, delayMs: number, times = 1): void {
    const number = Math.floor(nowMs / STRETCH_MS)
    const slot = number % STRETCHES
    if (this.#stretches[slot]!.number !== number) this.#stretches[slot] = new Stretch(number)
    this.#stretches[slot]!.add(delayMs, times)
  }

  /** Undefined without any data. */
  read(nowMs: number): LoopDelay | undefined {
    const oldest = Math.floor(nowMs / STRETCH_MS) - STRETCHES + 1
    const all = new Stretch(oldest)
    for (const stretch of this.#stretches) if (stretch.number >= oldest) all.merge(stretch)
    return all.count === 0 ? undefined : all.figures()
  }
}

class Stretch {
  readonly number: number
  count = 0
  #minMs = Number.POSITIVE_INFINITY
  #maxMs = 0
  #sumMs = 0
  #squares = 0
  readonly #buckets = new Float64Array(BUCKETS)

  constructor(number: number) {
    this.number = number
  }

  add(delayMs: number, times: number): void {
    this.count += times
    this.#minMs = Math.min(this.#minMs, delayMs)
    this.#maxMs = Math.max(this.#maxMs, delayMs)
    this.#sumMs += delayMs * times
    this.#squares += delayMs * delayMs * times
    const doublings = Math.log2(Math.max(1, delayMs * 1000))
    this.#buckets[Math.min(BUCKETS - 1, Math.round(doublings * FINENESS))]! += times
  }

  merge(other: Stretch): void {
    this.count += other.count
    this.#minMs = Math.min(this.#minMs, other.#minMs)
    this.#maxMs = Math.max(this.#maxMs, other.#maxMs)
    this.#sumMs += other.#sumMs
    this.#squares += other.#squares
    for (let i = 0; i < BUCKETS; i++) this.#buckets[i]! += other.#buckets[i]!
  }

  figures(): LoopDelay {
    const mean = this.#sumMs / this.count
    const variance = Math.max(0, this.#squares / this.count - mean * mean)
    return {
      min: this.#minMs / 1000,
      max: this.#maxMs / 1000,
      mean: mean / 1000,
      stddev: Math.sqrt(variance) / 1000,
      p50: this.#percentileS(0.5),
      p90: this.#percentileS(0.9),
      p99: this.#percentileS(0.99),
    }
  }

  #percentileS(share: number): number {
    let bucket = 0
    let upTo = this.#buckets[0]!
    while (bucket < BUCKETS - 1 && upTo < this.count * share) upTo += this.#buckets[++bucket]!
    const ms = 2 ** (bucket / FINENESS) / 1000
    return Math.min(this.#maxMs, Math.max(this.#minMs, ms)) / 1000
  }
}
