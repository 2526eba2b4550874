/**
 * DAGOR's adjustment (Zhou et al., SoCC 2018): in windows of a second (the paper also ends them after 2,000 requests),
 * a mean queueing time above 20 ms means overload. The admitted load then falls by 5 %, otherwise it grows by 1 %.
 * DAGOR applies it to a count per window behind a priority threshold; here, by Little's law, it is the number in
 * service. The queueing time is the service time beyond the least of the last ten seconds.
 */
import { Extreme, type Sample, SampledLimiter } from './sampled-limiter.ts'

const QUEUEING_MS = 20

export class DagorLimiter extends SampledLimiter {
  readonly #least = new Extreme('least', 10_000)

  constructor() {
    super(16)
  }

  protected windowMs(): number {
    return 1000
  }

  protected update({ nowMs, meanMs, minMs, mostInflight }: Sample): void {
    if (meanMs - this.#least.add(nowMs, minMs) > QUEUEING_MS) this.setLimit(this.exact * 0.95)
    else if (mostInflight >= this.limit) this.setLimit(this.exact * 1.01)
  }
}
