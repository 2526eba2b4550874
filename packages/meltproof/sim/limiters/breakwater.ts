/**
 * Breakwater's credit pool (Cho et al., OSDI 2020): once per round trip, credits grow by a little while the delay is
 * below the target, and otherwise shrink in proportion to the overshoot, at most by half. The paper hands the credits
 * to clients; here the pool is the limit. The delay is the service time beyond the least of the last ten seconds. The
 * target is half of that least time, in the same proportion as the paper's 80 us to its services.
 */
import { Extreme, type Sample, SampledLimiter } from './sampled-limiter.ts'

const INCREASE = 1
const BETA = 0.02

export class BreakwaterLimiter extends SampledLimiter {
  readonly #least = new Extreme('least', 10_000)

  constructor() {
    super(16)
  }

  protected windowMs(meanMs: number): number {
    return meanMs
  }

  protected update({ nowMs, meanMs, minMs, mostInflight }: Sample): void {
    const least = this.#least.add(nowMs, minMs)
    const target = Math.max(1, least / 2)
    const delay = meanMs - least
    if (delay < target) {
      if (mostInflight >= this.limit) this.setLimit(this.exact + INCREASE)
    } else this.setLimit(this.exact * Math.max(1 - (BETA * (delay - target)) / target, 0.5))
  }
}
