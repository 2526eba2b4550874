/**
 * BBR (Cardwell et al., ACM Queue 2016) with requests in place of packets. The limit is twice the highest throughput of
 * the last 3 s (in the paper, of ten round trips) times the least service time of the last ten seconds. The pacing gain
 * is 1.25, then 0.75, then six times 1. Startup doubles the limit until throughput stops rising by a quarter. After ten
 * seconds the least time is measured anew, with four requests in service for 200 ms.
 */
import { Extreme, type Sample, SampledLimiter } from './sampled-limiter.ts'

const GAINS = [1.25, 0.75, 1, 1, 1, 1, 1, 1]

export class BbrLimiter extends SampledLimiter {
  readonly #rate = new Extreme('most', 3000)
  #leastMs = Number.POSITIVE_INFINITY
  #leastAt = 0
  #probingSince = Number.NaN
  #cycle = 0
  #full = 0
  #fullRate = 0

  constructor() {
    super(16)
  }

  protected windowMs(meanMs: number): number {
    return Math.max(20, meanMs)
  }

  protected update({ nowMs, rate, minMs, mostInflight }: Sample): void {
    const bandwidth = this.#rate.add(nowMs, rate)
    if (minMs <= this.#leastMs || !Number.isNaN(this.#probingSince)) {
      this.#leastMs = Math.min(minMs, Number.isNaN(this.#probingSince) ? this.#leastMs : minMs)
      this.#leastAt = nowMs
    }
    const applicationLimited = mostInflight < this.limit
    if (this.#full < 3 && !applicationLimited) {
      if (rate > 1.25 * this.#fullRate) {
        this.#fullRate = rate
        this.#full = 0
        this.setLimit(this.exact * 2)
        return
      }
      this.#full++
    }
    if (this.#full < 3) return
    if (!Number.isNaN(this.#probingSince)) {
      if (nowMs - this.#probingSince < 200) return
      this.#probingSince = Number.NaN
    } else if (nowMs - this.#leastAt > 10_000) {
      this.#probingSince = nowMs
      this.#leastMs = Number.POSITIVE_INFINITY
      this.setLimit(4)
      return
    }
    const gain = GAINS[this.#cycle++ % GAINS.length]!
    if (Number.isFinite(this.#leastMs)) this.setLimit(2 * gain * bandwidth * this.#leastMs, 4)
  }
}
