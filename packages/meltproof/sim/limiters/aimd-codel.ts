/**
 * AIMD (Chiu & Jain 1989) driven by CoDel's sign of congestion (Nichols & Jacobson 2012): when the least delay of an
 * interval of 100 ms stays above the target the limit falls to 0.9 of it, else one more. The delay is what service took
 * beyond the least ever seen, for a process does not see the queues behind it.
 */
import { type Sample, SampledLimiter } from './sampled-limiter.ts'

const TARGET_MS = 5
/** CoDel's target is a twentieth of its interval; for services slower than that, a twentieth of the service. */
const TARGET_SHARE = 0.05

export class AimdCodelLimiter extends SampledLimiter {
  #leastMs = Number.POSITIVE_INFINITY

  constructor() {
    super(16)
  }

  protected windowMs(): number {
    return 100
  }

  protected update({ minMs, mostInflight }: Sample): void {
    this.#leastMs = Math.min(this.#leastMs, minMs)
    const target = Math.max(TARGET_MS, TARGET_SHARE * this.#leastMs)
    if (minMs - this.#leastMs > target) this.setLimit(this.exact * 0.9)
    else if (mostInflight >= this.limit) this.setLimit(this.exact + 1)
  }
}
