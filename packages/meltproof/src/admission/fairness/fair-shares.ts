/**
 * Max-min fairness between kinds of requests while there is not enough for all (Bertsekas and Gallager, Data Networks,
 * 1992): a kind that asks for less than an equal share of the permits gets all it asks for, and the others share what is
 * left, equally. Pure.
 *
 * What a kind asks for is how many permits it would hold if nobody had to wait: arrivals times the least mean time in
 * service, for kinds that share a saturated pool wait for each other there. The limit counts without that waiting too.
 */

/** Demand is counted over windows of this, ms. */
const WINDOW_MS = 200
/** Weight of the last window in what is known. */
const WEIGHT = 0.5
/** Weight of one more service time in the mean. */
const SERVICE_WEIGHT = 0.1
/** What is known of waiting in service is so much less with each draw. */
const FORGOTTEN = 0.3
/** The least mean time in service comes so much nearer to the mean with each draw. */
const RISES = 0.005
/** Share of the limit that is dealt out: demand is an estimate. */
const DEALT = 0.9
/** A kind that fits comes first up to so many times what it asks for in a window, and so many besides. */
const BURST = 1.5
const FEW = 4
const NOBODY = -1

export class FairShares {
  readonly #kinds: number
  readonly #unasked: number
  readonly #arrivals: Float64Array
  /** Arrivals per ms. */
  readonly #rates: Float64Array
  /** Mean time in service, ms, 0 before it is known; and the least that this mean has been. */
  readonly #serviceMs: Float64Array
  readonly #leastMs: Float64Array
  /** How many of a kind have come first since the last draw; how many may, at once; */
  readonly #first: Float64Array
  readonly #granted: Float64Array
  /** and so many more for each ms since. */
  readonly #pace: Float64Array
  #meanServiceMs = 0
  /** Of those who were served: time in service, and what of it is left where nobody waits. */
  #heldMs = 0
  #workedMs = 0
  #since = Number.NaN
  #drawn = false

  /**
   * @param kinds how many there are: 0 to `kinds` - 1
   * @param newcomers how many may come first in a window of a kind that nobody asked for before
   */
  constructor(kinds: number, newcomers = 0) {
    this.#kinds = kinds
    this.#unasked = newcomers - 1
    this.#arrivals = new Float64Array(kinds)
    this.#rates = new Float64Array(kinds)
    this.#serviceMs = new Float64Array(kinds)
    this.#leastMs = new Float64Array(kinds)
    this.#first = new Float64Array(kinds)
    this.#granted = new Float64Array(kinds).fill(NOBODY)
    this.#pace = new Float64Array(kinds)
  }

  /** A request of this kind came while others wait. */
  arrived(kind: number, nowMs: number, limit: number): void {
    this.#arrivals[kind]!++
    if (Number.isNaN(this.#since)) this.#since = nowMs
    else if (nowMs - this.#since >= WINDOW_MS) this.#draw(nowMs, limit)
  }

  /** One was answered after so long in service. */
  served(kind: number, serviceMs: number): void {
    const before = this.#serviceMs[kind]!
    const mean = before === 0 ? serviceMs : before + (serviceMs - before) * SERVICE_WEIGHT
    this.#serviceMs[kind] = mean
    this.#heldMs += serviceMs
    this.#workedMs += this.#leastMs[kind] || serviceMs
    this.#meanServiceMs += (serviceMs - this.#meanServiceMs) * (this.#meanServiceMs === 0 ? 1 : SERVICE_WEIGHT / 4)
  }

  /** One more of this kind can be had. False for a kind of which suddenly far more come: floods must not come first. */
  within(kind: number, nowMs: number): boolean {
    return this.#first[kind]! <= this.#granted[kind]! + this.#pace[kind]! * (nowMs - this.#since)
  }

  /** One that is {@link within} comes first. */
  comesFirst(kind: number): void {
    this.#first[kind]!++
  }

  /** A queue begins: what was asked for before is another traffic's. */
  open(nowMs: number): void {
    this.#arrivals.fill(0)
    this.#first.fill(0)
    this.#granted.fill(NOBODY)
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
    for (const { kind } of asking) this.#granted[kind] = NOBODY
    this.#pace.fill(0)
    asking.sort((a, b) => a.permits - b.permits)
    let left = DEALT * limit * this.#working()
    for (const [i, { kind, permits }] of asking.entries()) {
      // Somebody must be asked to do with less, or there would be no queue. Who asks for most has what the others leave.
      if (i === asking.length - 1) return
      const share = left / (asking.length - i)
      if (permits <= share) this.#granted[kind] = FEW + BURST * this.#rates[kind]! * WINDOW_MS
      else this.#pace[kind] = share / this.#usualMs(kind)
      left -= Math.min(permits, share)
    }
  }

  /** The share of those in service who do not wait there. */
  #working(): number {
    const share = this.#heldMs === 0 ? 1 : Math.min(1, this.#workedMs / this.#heldMs)
    this.#heldMs *= 1 - FORGOTTEN
    this.#workedMs *= 1 - FORGOTTEN
    for (let kind = 0; kind < this.#kinds; kind++) {
      const above = this.#serviceMs[kind]! - this.#leastMs[kind]!
      this.#leastMs[kind]! += above * (above < 0 || this.#leastMs[kind] === 0 ? 1 : RISES)
    }
    return share
  }

  #usualMs(kind: number): number {
    return this.#leastMs[kind]! || this.#meanServiceMs
  }
}
