/**
 * Gradient2 of Netflix's concurrency-limits. The limit is multiplied by the long-term over the short-term service time,
 * with a tolerance of 1.5, plus room for a queue of 4, and smoothed by 0.2. The long-term time is an average over 600
 * windows that adapts faster when the load falls. Its bounds of 20 to 200 are widened to 1 to 10,000, as for all
 * limiters.
 */
import { type Sample, SampledLimiter } from './sampled-limiter.ts'

export class Gradient2Limiter extends SampledLimiter {
  #longMs = 0
  #samples = 0

  constructor() {
    super(20)
  }

  protected windowMs(): number {
    return 100
  }

  protected update({ meanMs, mostInflight }: Sample): void {
    // As in Netflix's code: a plain average of the first ten, exponential afterwards.
    this.#samples++
    this.#longMs += (meanMs - this.#longMs) * (this.#samples <= 10 ? 1 / this.#samples : 2 / 601)
    if (this.#longMs / meanMs > 2) this.#longMs *= 0.95
    const limit = this.exact
    if (mostInflight < limit / 2) return
    const gradient = Math.max(0.5, Math.min(1, (1.5 * this.#longMs) / meanMs))
    this.setLimit(limit * 0.8 + (limit * gradient + 4) * 0.2)
  }
}
