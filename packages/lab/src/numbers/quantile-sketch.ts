/**
 * Quantiles of any stream of numbers in bounded memory, within 0.5 % of the value (DDSketch: Masson, Rim and Lee, "A
 * Fast and Fully-Mergeable Quantile Sketch with Relative-Error Guarantees", VLDB 2019). Pure.
 *
 * A bucket holds the numbers between two powers of gamma. All doubles together need about 145,000 buckets for each
 * sign, so even an endless stream takes only some megabytes.
 */

const ACCURACY = 0.005
const GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
const LOG_GAMMA = Math.log(GAMMA)

export class QuantileSketch {
  /** The count of each bucket, keyed by the value that represents its numbers. */
  readonly #buckets = new Map<number, number>()
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Number of buckets in use, which determines the memory. */
  get buckets(): number {
    return this.#buckets.size
  }

  record(value: number): void {
    if (!Number.isFinite(value)) throw new RangeError(`a sketch takes finite numbers, got ${value}`)
    this.#count++
    const middle = middleOf(value)
    this.#buckets.set(middle, (this.#buckets.get(middle) ?? 0) + 1)
  }

  /** The values at these shares (0 to 1), in the given order; NaN without records. */
  quantiles(shares: readonly number[]): number[] {
    const rising = [...this.#buckets].sort(([a], [b]) => a - b)
    return shares.map(share => {
      const rank = Math.max(1, Math.ceil(share * this.#count))
      let seen = 0
      for (const [value, count] of rising) {
        seen += count
        if (seen >= rank) return value
      }
      return Number.NaN
    })
  }
}

/**
 * A value within the accuracy of every number in the same bucket; 0 for 0, whose bucket is -Infinity. The formula does
 * not overflow for large numbers.
 */
function middleOf(value: number): number {
  const bucket = Math.ceil(Math.log(Math.abs(value)) / LOG_GAMMA)
  return Math.sign(value) * Math.exp(bucket * LOG_GAMMA - Math.log((GAMMA + 1) / 2))
}
