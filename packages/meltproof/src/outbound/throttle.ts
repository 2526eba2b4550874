/**
 * Refuses calls to a dependency that refuses most of them, with the probability of Google's client-side throttling
 * (Site Reliability Engineering, chapter 21, "Handling Overload"): max(0, (requests - K * accepts) / (requests + 1)),
 * over a sliding window. Requests are all calls that were refused or served, accepts those that were served. Pure.
 */

/** Requests may be up to this many times the accepts before meltproof refuses any: half may be refused. */
const K = 2
/** Length of the window, ms. SRE uses two minutes; this one recovers within seconds. */
const WINDOW_MS = 2_000
const SLOTS = 10
const SLOT_MS = WINDOW_MS / SLOTS
/** This many served calls in a row end the throttling. */
const SERVED_IN_A_ROW = 10
/** Maximum probability of a refusal, so at least one call in twenty goes out. */
const MOST = 0.95
/** After this pause, ms, one call goes out in any case. The pause doubles when one refusal follows another. */
const LEAST_PAUSE_MS = 100
const MOST_PAUSE_MS = 1_000

/**
 * Throttling is judged by this many calls that went out while it was active. It does not help if the served share of
 * these calls is between MIN_SERVED_SHARE and MAX_HELPED_SHARE; then it pauses, twice as long each time.
 */
const JUDGED = 100
const MIN_SERVED_SHARE = 0.05
const MAX_HELPED_SHARE = 0.35
const FUTILE_MS = 10_000
const LONGEST_FUTILE_MS = 300_000

export class Throttle {
  readonly #requests = new Float64Array(SLOTS)
  readonly #accepts = new Float64Array(SLOTS)
  #sumRequests = 0
  #sumAccepts = 0
  #slot = 0
  #slotEndsAt = Number.NEGATIVE_INFINITY
  #inARow = 0
  #judgeFrom = Number.NaN
  #judged = 0
  #judgedServed = 0
  #futileMs = FUTILE_MS
  #futileUntil = Number.NEGATIVE_INFINITY
  #pauseMs = LEAST_PAUSE_MS
  #probeAt = Number.NEGATIVE_INFINITY

  /** True if meltproof refuses a new call. `random` is from 0 to 1. */
  refuses(nowMs: number, random: number): boolean {
    const probability = this.probability(nowMs)
    if (probability <= 0) return false
    if (nowMs >= this.#probeAt) {
      this.#probeAt = nowMs + this.#pauseMs
      return false
    }
    if (random >= probability) return false
    this.#count(1, 0)
    return true
  }

  probability(nowMs: number): number {
    if (this.#sumRequests === 0) return 0
    this.#pass(nowMs)
    if (nowMs < this.#futileUntil) return 0
    return Math.min(MOST, Math.max(0, (this.#sumRequests - K * this.#sumAccepts) / (this.#sumRequests + 1)))
  }

  /** Calls of the window that were served or refused, by the dependency or by meltproof. */
  decided(nowMs: number): number {
    this.#pass(nowMs)
    return this.#sumRequests
  }

  /** The share of the calls in the window that was refused. */
  refusedShare(nowMs: number): number {
    const decided = this.decided(nowMs)
    return decided === 0 ? 0 : 1 - this.#sumAccepts / decided
  }

  served(nowMs: number): void {
    this.#pass(nowMs)
    this.#pauseMs = LEAST_PAUSE_MS
    this.#probeAt = Math.min(this.#probeAt, nowMs + this.#pauseMs)
    if (++this.#inARow === SERVED_IN_A_ROW) this.#clear()
    this.#count(1, 1)
    this.#judge(true, nowMs)
  }

  refused(nowMs: number): void {
    this.#pass(nowMs)
    if (this.#inARow === 0) this.#pauseMs = Math.min(2 * this.#pauseMs, MOST_PAUSE_MS)
    this.#inARow = 0
    this.#count(1, 0)
    this.#judge(false, nowMs)
  }

  /** Throttling should raise the share of served calls; otherwise it is pointless. */
  #judge(served: boolean, nowMs: number): void {
    if (this.probability(nowMs) === 0) {
      this.#judgeFrom = Number.NaN
      this.#judged = 0
      this.#judgedServed = 0
      return
    }
    if (Number.isNaN(this.#judgeFrom)) this.#judgeFrom = nowMs + WINDOW_MS
    if (nowMs < this.#judgeFrom) return
    if (served) this.#judgedServed++
    if (++this.#judged < JUDGED) return
    const share = this.#judgedServed / this.#judged
    this.#judged = 0
    this.#judgedServed = 0
    if (share < MIN_SERVED_SHARE || share > MAX_HELPED_SHARE) return
    this.#futileUntil = nowMs + this.#futileMs
    this.#futileMs = Math.min(2 * this.#futileMs, LONGEST_FUTILE_MS)
  }

  #count(requests: number, accepts: number): void {
    this.#requests[this.#slot]! += requests
    this.#accepts[this.#slot]! += accepts
    this.#sumRequests += requests
    this.#sumAccepts += accepts
  }

  #pass(nowMs: number): void {
    if (nowMs < this.#slotEndsAt) return
    if (nowMs >= this.#slotEndsAt + WINDOW_MS) {
      this.#clear()
      this.#slotEndsAt = nowMs + SLOT_MS
      return
    }
    while (nowMs >= this.#slotEndsAt) {
      this.#slot = (this.#slot + 1) % SLOTS
      this.#sumRequests -= this.#requests[this.#slot]!
      this.#sumAccepts -= this.#accepts[this.#slot]!
      this.#requests[this.#slot] = 0
      this.#accepts[this.#slot] = 0
      this.#slotEndsAt += SLOT_MS
    }
  }

  #clear(): void {
    this.#requests.fill(0)
    this.#accepts.fill(0)
    this.#sumRequests = 0
    this.#sumAccepts = 0
  }
}
