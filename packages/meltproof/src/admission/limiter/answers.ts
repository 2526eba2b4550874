/**
 * Counts answers, weighted by their service time. Slow answers count most: they use most of a scarce resource, and
 * admission decides how many quick ones start among them. Pure.
 */
export class Answers {
  /** Number of answers, without weights. */
  all = 0
  #sumMs = 0
  #squares = 0

  add(tookMs: number): void {
    this.all++
    this.#sumMs += tookMs
    this.#squares += tookMs * tookMs
  }

  clear(): void {
    this.all = 0
    this.#sumMs = 0
    this.#squares = 0
  }

  /**
   * Effective number: (sum of times)^2 / sum of squares (Kish, Survey Sampling, 1965); `all` if all times are equal.
   */
  get count(): number {
    return this.#squares === 0 ? 0 : this.#sumMs ** 2 / this.#squares
  }

  /** Effective number of the answers since an earlier {@link copy}. */
  countSince(earlier: Answers): number {
    const squares = this.#squares - earlier.#squares
    if (squares === 0) return 0
    // The difference of two large sums is not exact.
    return Math.min(this.all - earlier.all, (this.#sumMs - earlier.#sumMs) ** 2 / squares)
  }

  copy(): Answers {
    const copy = new Answers()
    copy.all = this.all
    copy.#sumMs = this.#sumMs
    copy.#squares = this.#squares
    return copy
  }

  get meanMs(): number {
    return this.#sumMs / Math.max(this.all, 1)
  }

  /** Mean weighted by service time, ms: the service time of the answers that use most of the time. */
  get heavyMs(): number {
    return this.#sumMs === 0 ? 0 : this.#squares / this.#sumMs
  }
}
