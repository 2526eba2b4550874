/**
 * TCP Vegas (Brakmo & Peterson 1995) as Netflix's concurrency-limits applies it to requests (VegasLimit). It estimates
 * the queue as L (1 - rttNoLoad / rtt), and keeps it between alpha and beta, which grow with log10 L. The no-load time
 * is the least seen, measured anew every 30 L samples.
 */
import { type Sample, SampledLimiter } from './sampled-limiter.ts'

export class VegasLimiter extends SampledLimiter {
  #noLoadMs = 0
  #sinceProbe = 0

  constructor() {
    super(20)
  }

  protected windowMs(): number {
    return 100
  }

  protected update({ meanMs, minMs, mostInflight, count }: Sample): void {
    const limit = this.exact
    this.#sinceProbe += count
    if (this.#noLoadMs === 0 || this.#sinceProbe > 30 * limit) {
      this.#noLoadMs = minMs
      this.#sinceProbe = 0
      return
    }
    this.#noLoadMs = Math.min(this.#noLoadMs, minMs)
    if (mostInflight * 2 < limit) return
    const step = Math.max(1, Math.log10(limit))
    const queue = Math.ceil(limit * (1 - this.#noLoadMs / meanMs))
    if (queue <= step) this.setLimit(limit + 6 * step)
    else if (queue < 3 * step) this.setLimit(limit + step)
    else if (queue > 6 * step) this.setLimit(limit - step)
  }
}
