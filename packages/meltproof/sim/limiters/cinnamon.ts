/**
 * Cinnamon (Uber engineering blog, 2023): a PID controller without the D, with the published gains (0.1 and 1.4), on
 * the queue's distance from its target. The queue is the number in service, less the throughput times the least service
 * time of the last ten seconds. The target is an eighth of the number in service. Uber's controller sets a rejection
 * rate in front of a separate limit (a Vegas); here it sets the limit, so that the two cannot conflict.
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
      // The velocity form: the controller's change since the last window, added to the logarithm of the limit.
      this.setLimit(limit * Math.exp(P * (error - this.#last) + I * error * (elapsedMs / 1000)))
    }
    this.#last = error
  }
}
