/**
 * A mergeable log-linear histogram of durations in milliseconds. Pure: knows no clock, no thread, no file.
 *
 * Every power of two from 2^-10 ms (0.98 us) to 2^20 ms (17.5 min) is cut into 128 equal buckets, so the middle of a
 * bucket is within 0.39 % of every value inside. The bucket of a value is read off the bits of the double itself, which
 * takes about 10 ns. Values outside the range count in the first or last bucket; minimum and maximum stay exact.
 */

const SUB_BITS = 7
const SUB = 1 << SUB_BITS
const OCTAVES = 30
const BUCKETS = OCTAVES * SUB
const LOWEST_MS = 2 ** -10
/** Sums are kept in whole tenths of a microsecond, so that merging in any order gives exactly the same sum. */
const SUM_UNITS_PER_MS = 10_000

const MOST = 2 ** 32 - 1

const float = new Float64Array(1)
const words = new Uint32Array(float.buffer)
const HIGH_WORD = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0
const topBits = (value: number): number => {
  float[0] = value
  return words[HIGH_WORD]! >>> (20 - SUB_BITS)
}
const FIRST = topBits(LOWEST_MS)

const bucketOf = (ms: number): number => {
  if (!(ms > LOWEST_MS)) return 0
  const index = topBits(ms) - FIRST
  return index < BUCKETS ? index : BUCKETS - 1
}

/** The value at a fraction (0 to 1) of a bucket, ms. */
const within = (index: number, share: number): number =>
  LOWEST_MS * 2 ** (index >>> SUB_BITS) * (1 + ((index & (SUB - 1)) + share) / SUB)

/** The plain form, for JSON and structured clone. `buckets` is index, count, index, count... in rising order. */
export interface HistogramData {
  readonly count: number
  readonly sumMs: number
  readonly minMs: number | null
  readonly maxMs: number | null
  readonly buckets: readonly number[]
}

export class Histogram {
  #pages: (Uint32Array | undefined)[] = []
  #count = 0
  #sum = 0
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY

  /** Adds one duration. NaN is a mistake of the caller and is rejected; negative values count as zero. */
  record(ms: number): void {
    if (Number.isNaN(ms)) throw new RangeError('a histogram takes durations in milliseconds, got NaN')
    const value = Math.max(0, ms)
    const index = bucketOf(value)
    this.#page(index >>> SUB_BITS)[index & (SUB - 1)]!++
    this.#count++
    this.#sum += Math.round(value * SUM_UNITS_PER_MS)
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
  }

  get count(): number {
    return this.#count
  }

  /** NaN when empty, like every figure of an empty histogram (JSON shows it as null). */
  get mean(): number {
    return this.#count === 0 ? Number.NaN : this.#sum / SUM_UNITS_PER_MS / this.#count
  }

  get min(): number {
    return this.#count === 0 ? Number.NaN : this.#min
  }

  get max(): number {
    return this.#count === 0 ? Number.NaN : this.#max
  }

  /**
   * The value below or at which `percent` (0..100) of the durations lie, by nearest rank, within 0.39 %.
   * `percentile(100)` is the exact maximum and `percentile(0)` the exact minimum.
   */
  percentile(percent: number): number {
    if (!(percent >= 0 && percent <= 100)) throw new RangeError(`percent must be from 0 to 100, got ${percent}`)
    if (this.#count === 0) return Number.NaN
    const rank = Math.ceil((percent / 100) * this.#count - 1e-9)
    if (rank <= 0) return this.#min
    if (rank >= this.#count) return this.#max
    let below = 0
    let found = 0
    this.#each((index, count) => {
      if (below < rank) found = index
      below += count
    })
    return Math.min(this.#max, Math.max(this.#min, within(found, 0.5)))
  }

  /**
   * Like {@link percentile}, but interpolated: values count as evenly spread in their bucket. Use it to compare two
   * histograms: the steps between buckets would appear as differences.
   */
  smoothPercentile(percent: number): number {
    const rank = (percent / 100) * this.#count
    let below = 0
    let found = Number.NaN
    this.#each((index, count) => {
      if (Number.isNaN(found) && below + count >= rank) {
        const from = Math.max(this.#min, within(index, 0))
        const to = Math.min(this.#max, within(index, 1))
        found = from + ((to - from) * (rank - below)) / count
      }
      below += count
    })
    // Values outside the range are counted in the first or last bucket.
    return Math.min(this.#max, Math.max(this.#min, found))
  }

  /** Share (0..1) of the durations at or below `ms`, to the resolution of a bucket. NaN when empty. */
  shareWithin(ms: number): number {
    if (this.#count === 0) return Number.NaN
    if (ms >= this.#max) return 1
    const last = bucketOf(ms)
    let seen = 0
    this.#each((index, count) => {
      if (index <= last) seen += count
    })
    return seen / this.#count
  }

  merge(other: Histogram): this {
    other.#each((index, count) => {
      const page = this.#page(index >>> SUB_BITS)
      const times = page[index & (SUB - 1)]! + count
      if (times > MOST) throw new RangeError(`a bucket of a histogram holds at most ${MOST}, got ${times}`)
      page[index & (SUB - 1)] = times
    })
    this.#count += other.#count
    this.#sum += other.#sum
    if (other.#min < this.#min) this.#min = other.#min
    if (other.#max > this.#max) this.#max = other.#max
    return this
  }

  static merged(parts: Iterable<Histogram>): Histogram {
    const all = new Histogram()
    for (const part of parts) all.merge(part)
    return all
  }

  toJSON(): HistogramData {
    const buckets: number[] = []
    this.#each((index, count) => buckets.push(index, count))
    return {
      count: this.#count,
      sumMs: this.#sum / SUM_UNITS_PER_MS,
      minMs: this.#count === 0 ? null : this.#min,
      maxMs: this.#count === 0 ? null : this.#max,
      buckets,
    }
  }

  /** Throws a RangeError for data that no histogram produces. */
  static fromJSON(data: HistogramData): Histogram {
    const histogram = new Histogram()
    let count = 0
    let last = -1
    for (let at = 0; at < data.buckets.length; at += 2) {
      const index = data.buckets[at]!
      const times = data.buckets[at + 1]!
      const known = Number.isInteger(index) && index > last && index < BUCKETS
      if (!(known && Number.isInteger(times) && times > 0 && times <= MOST)) {
        throw new RangeError(`not a histogram: bucket ${index} with count ${times} after bucket ${last}`)
      }
      histogram.#page(index >>> SUB_BITS)[index & (SUB - 1)] = times
      count += times
      last = index
    }
    if (count !== data.count) {
      throw new RangeError(`not a histogram: its buckets hold ${count}, it claims ${data.count}`)
    }
    histogram.#count = count
    histogram.#sum = Math.round(data.sumMs * SUM_UNITS_PER_MS)
    if (data.minMs !== null) histogram.#min = data.minMs
    if (data.maxMs !== null) histogram.#max = data.maxMs
    if (!histogram.#isWhole(data.buckets[0], last)) {
      const { minMs, maxMs, sumMs } = data
      throw new RangeError(
        `not a histogram: minMs ${minMs}, maxMs ${maxMs} and sumMs ${sumMs} do not fit the ${count} values in its buckets`,
      )
    }
    return histogram
  }

  /** True if minimum, maximum and sum are possible for the counts. */
  #isWhole(first: number | undefined, last: number): boolean {
    const mean = this.#sum / SUM_UNITS_PER_MS / this.#count
    if (first === undefined) return this.#min > this.#max && this.#sum === 0
    // Each value is rounded before it is added.
    const slack = 1 / SUM_UNITS_PER_MS + 1e-9 * this.#max
    return (
      bucketOf(this.#min) === first &&
      bucketOf(this.#max) === last &&
      mean >= this.#min - slack &&
      mean <= this.#max + slack
    )
  }

  #page(octave: number): Uint32Array {
    let page = this.#pages[octave]
    if (page === undefined) {
      // Filled from the front, because a sparse array would be slow.
      while (this.#pages.length < octave) this.#pages.push(undefined)
      page = new Uint32Array(SUB)
      this.#pages[octave] = page
    }
    return page
  }

  #each(visit: (index: number, count: number) => void): void {
    for (let octave = 0; octave < this.#pages.length; octave++) {
      const page = this.#pages[octave]
      if (page === undefined) continue
      for (let sub = 0; sub < SUB; sub++) {
        const count = page[sub]!
        if (count > 0) visit((octave << SUB_BITS) | sub, count)
      }
    }
  }
}
