/**
 * The mean of service times, and how far it may be off. Those who complete together (a pool's volley, the rows of one
 * commit) took equally long for the same reason, so they count as one observation: the variance of the mean is the
 * cluster-robust one, the sum over volleys of (sum - n * mean)^2, divided by the square of the count. Pure.
 */

/** Completions no further apart than this, ms, belong to one volley. */
const TOGETHER_MS = 0.5

export class VolleyMean {
  /** Completions. */
  count = 0
  /** Of their service times, ms. */
  sum = 0
  #squares = 0
  // Over the volleys that are over.
  #volleys = 0
  #squaredCounts = 0
  #squaredSums = 0
  #products = 0
  // The volley under way.
  #volleyCount = 0
  #volleySum = 0
  #lastAt = Number.NEGATIVE_INFINITY

  add(nowMs: number, serviceMs: number): void {
    if (nowMs - this.#lastAt > TOGETHER_MS) this.#endVolley()
    this.#lastAt = nowMs
    this.#volleyCount++
    this.#volleySum += serviceMs
    this.count++
    this.sum += serviceMs
    this.#squares += serviceMs * serviceMs
  }

  /** Of the mean. A single volley is all there is to go by: its completions count as if they were independent. */
  variance(): number {
    this.#endVolley()
    const mean = this.sum / this.count
    if (this.#volleys < 2) return Math.max(0, this.#squares / this.count - mean * mean) / this.count
    const spread = this.#squaredSums - 2 * mean * this.#products + mean * mean * this.#squaredCounts
    return ((Math.max(0, spread) / this.count ** 2) * this.#volleys) / (this.#volleys - 1)
  }

  clear(): void {
    this.count = 0
    this.sum = 0
    this.#squares = 0
    this.#volleys = 0
    this.#squaredCounts = 0
    this.#squaredSums = 0
    this.#products = 0
    this.#volleyCount = 0
    this.#volleySum = 0
    this.#lastAt = Number.NEGATIVE_INFINITY
  }

  #endVolley(): void {
    if (this.#volleyCount === 0) return
    this.#volleys++
    this.#squaredCounts += this.#volleyCount ** 2
    this.#squaredSums += this.#volleySum ** 2
    this.#products += this.#volleyCount * this.#volleySum
    this.#volleyCount = 0
    this.#volleySum = 0
  }
}
