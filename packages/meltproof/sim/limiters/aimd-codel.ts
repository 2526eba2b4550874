/**
 * AIMD (Chiu & Jain 1989) driven by CoDel's sign of congestion (Nichols & Jacobson 2012): when the least delay of an
 * interval of 100 ms stays above the target, the limit falls by a tenth, otherwise it grows by one. The delay is the
 * service time beyond the least ever seen, because a process does not see the queues behind it.
 */
import { type Sample, SampledLimiter } from './sampled-limiter.ts'

const TARGET_MS = 5
/** CoDel's target is a twentieth of its interval. For slower services it is a twentieth of the service time. */
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
