/**
 * Cinnamon (Uber engineering blog, 2023): a PID controller without its D, whose gains are the ones published (0.1 and
 * 1.4), on how far the queue is from its target. The queue is L less what throughput times the least service time of the
 * last ten seconds accounts for; the target is an eighth of the limit. There the output is a rejection rate in front of a
 * limit of its own (a Vegas); here it is the limit, so that the two can not fight.
 */
import { Extreme, type Sample, SampledLimiter } from './sampled-limiter.ts'

const P = 0.1
const I = 1.4
const TARGET = 0.125

export class CinnamonLimiter extends SampledLimiter {
  readonly #least = new Extreme('least', 10_000)
  #last = 0

  constructor() {
    super(16)
  }

  protected windowMs(): number {
    return 100
  }

  protected update({ nowMs, elapsedMs, rate, minMs, mostInflight }: Sample): void {
    const limit = this.exact
    const queue = 1 - (rate * this.#least.add(nowMs, minMs)) / Math.max(1, mostInflight)
    const error = Math.max(-1, Math.min(1, TARGET - queue))
    if (mostInflight >= limit * 0.9 || error < 0) {
      // The velocity form: what the controller adds since the last window, to the logarithm of the limit.
      this.setLimit(limit * Math.exp(P * (error - this.#last) + I * error * (elapsedMs / 1000)))
    }
    this.#last = error
  }
}
