/**
 * Max-min fairness between kinds of requests (known-kinds.ts; Bertsekas and Gallager, Data Networks, 1992): a kind that
 * needs less than an equal share gets all it needs. A kind's demand is its arrival rate times its lowest recent mean
 * service time, which excludes time that its requests wait for each other. Pure.
 */

const WINDOW_MS = 200
/** Weight of the latest window in the mean rate. */
const WEIGHT = 0.5
const SERVICE_WEIGHT = 0.1
/** Each window reduces the sums of #heldMs and #workedMs by this share. */
const SUM_DECAY = 0.3
/** Each window raises the lowest mean service time towards the mean by this share. */
const LEAST_MEAN_RISE = 0.005
/** Only this share of the limit is distributed, because demand is an estimate. */
const DISTRIBUTED_SHARE = 0.9
/** A kind within its share may have priority for BURST times its mean arrivals per window, plus FEW requests. */
const BURST = 1.5
const FEW = 4
const NO_GRANT = -1

export class FairShares {
  readonly #kinds: number
  readonly #unasked: number
  readonly #arrivals: Float64Array
  readonly #rates: Float64Array
  /** By kind: mean service time, ms, 0 while unknown; and the lowest value of this mean. */
  readonly #serviceMs: Float64Array
  readonly #leastMs: Float64Array
  /** By kind, in this window: requests with priority, how many are allowed at once, and how many more per ms. */
  readonly #first: Float64Array
  readonly #granted: Float64Array
  readonly #pace: Float64Array
  #meanServiceMs = 0
  /** Sum of service times, and the part of it in which requests did not wait for each other, ms. */
  #heldMs = 0
  #workedMs = 0
  #since = Number.NaN
  #drawn = false

  /** @param newcomers requests with priority per window for a kind that has had no demand so far */
  constructor(kinds: number, newcomers = 0) {
    this.#kinds = kinds
    this.#unasked = newcomers - 1
    this.#arrivals = new Float64Array(kinds)
    this.#rates = new Float64Array(kinds)
    this.#serviceMs = new Float64Array(kinds)
    this.#leastMs = new Float64Array(kinds)
    this.#first = new Float64Array(kinds)
    this.#granted = new Float64Array(kinds).fill(NO_GRANT)
    this.#pace = new Float64Array(kinds)
  }

  arrived(kind: number, nowMs: number, limit: number): void {
    this.#arrivals[kind]!++
    if (Number.isNaN(this.#since)) this.#since = nowMs
    else if (nowMs - this.#since >= WINDOW_MS) this.#draw(nowMs, limit)
  }

  served(kind: number, serviceMs: number): void {
    const before = this.#serviceMs[kind]!
    const mean = before === 0 ? serviceMs : before + (serviceMs - before) * SERVICE_WEIGHT
    this.#serviceMs[kind] = mean
    this.#heldMs += serviceMs
    this.#workedMs += this.#leastMs[kind] || serviceMs
    this.#meanServiceMs += (serviceMs - this.#meanServiceMs) * (this.#meanServiceMs === 0 ? 1 : SERVICE_WEIGHT / 4)
  }

  /** True if another request of this kind may have priority; false once the kind exceeds its share. */
  within(kind: number, nowMs: number): boolean {
    return this.#first[kind]! <= this.#granted[kind]! + this.#pace[kind]! * (nowMs - this.#since)
  }

  comesFirst(kind: number): void {
    this.#first[kind]!++
  }

  /** Called when requests begin to queue. Demand that was measured earlier may belong to other traffic. */
  reset(nowMs: number): void {
    this.#arrivals.fill(0)
    this.#first.fill(0)
    this.#granted.fill(NO_GRANT)
    this.#pace.fill(0)
    this.#since = nowMs
    this.#drawn = false
  }

  #draw(nowMs: number, limit: number): void {
    const elapsedMs = nowMs - this.#since
    this.#since = nowMs
    const asking: { kind: number; permits: number }[] = []
    for (let kind = 0; kind < this.#kinds; kind++) {
      const rate = this.#arrivals[kind]! / elapsedMs
      const before = this.#rates[kind]!
      this.#rates[kind] = this.#drawn ? before + (rate - before) * WEIGHT : rate
      if (this.#rates[kind]! * elapsedMs > 0.01)
        asking.push({ kind, permits: this.#rates[kind]! * this.#usualMs(kind) })
      else this.#rates[kind] = 0
    }
    this.#drawn = true
    this.#arrivals.fill(0)
    this.#first.fill(0)
    this.#granted.fill(this.#unasked)
    for (const { kind } of asking) this.#granted[kind] = NO_GRANT
    this.#pace.fill(0)
    asking.sort((a, b) => a.permits - b.permits)
    let left = DISTRIBUTED_SHARE * limit * this.#working()
    for (const [i, { kind, permits }] of asking.entries()) {
      // The kind with the highest demand causes the queue, so it has no priority and gets what the others leave.
      if (i === asking.length - 1) return
      const share = left / (asking.length - i)
      if (permits <= share) this.#granted[kind] = FEW + BURST * this.#rates[kind]! * WINDOW_MS
      else this.#pace[kind] = share / this.#usualMs(kind)
      left -= Math.min(permits, share)
    }
  }

  /** The share of the time in service in which requests do not wait for each other. */
  #working(): number {
    const share = this.#heldMs === 0 ? 1 : Math.min(1, this.#workedMs / this.#heldMs)
    this.#heldMs *= 1 - SUM_DECAY
    this.#workedMs *= 1 - SUM_DECAY
    for (let kind = 0; kind < this.#kinds; kind++) {
      const above = this.#serviceMs[kind]! - this.#leastMs[kind]!
      this.#leastMs[kind]! += above * (above < 0 || this.#leastMs[kind] === 0 ? 1 : LEAST_MEAN_RISE)
    }
    return share
  }

  #usualMs(kind: number): number {
    return this.#leastMs[kind]! || this.#meanServiceMs
  }
}
