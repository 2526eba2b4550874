/**
 * Finds how many calls in flight an origin accepts without refusing any. While the origin refuses calls, the limit
 * halves; otherwise it grows. An origin that refuses single calls as often as concurrent ones gets no limit, because
 * their number is not the reason. Pure.
 */

/** Without a limit, the counts of refused and served calls restart after this many calls. */
const EPOCH = 100
/** A limit is worth its cost if at least this share of the calls is refused. */
const LEAST_SHARE = 0.2
/** This many refusals set a limit before the epoch ends, if they are at least STORM_SHARE of the calls. */
const STORM_REFUSALS = 10
const STORM_SHARE = 0.35
/** While a limit is judged, fewer refusals are treated as chance. */
const LEAST_REFUSALS = 3
/** Minimum number of calls before a limit is raised, confirmed or given up. */
const MIN_ENDED_CALLS = 15
/** A limit helps if it reduces the share of refused calls below this fraction of the share without a limit. */
const HELPFUL_RATIO = 0.5
/** If no limit has helped, none is tried for this time, ms. */
const FUTILE_MS = 10_000
/**
 * The limit is raised after `ROUNDS * limit` served calls. The factor doubles, up to MOST_ROUNDS, if a limit that was
 * raised by 1 led to refusals.
 */
const ROUNDS = 2
const MOST_ROUNDS = 64
/** After this time, ms, MIN_ENDED_CALLS served calls suffice to raise the limit. */
const RETRY_MS = 2000

export class RefusalLimit {
  limit: number = Number.POSITIVE_INFINITY
  /** When the limit changed. Calls that started earlier say nothing about it. */
  #changedAt = Number.NEGATIVE_INFINITY
  #served = 0
  #refused = 0
  #peak = 0
  /** The share of calls that were refused before there was a limit. */
  #shareBefore = 0
  /** The last good limit, while a higher one is tried. */
  #safe: number | undefined
  #step = 1
  #rounds = ROUNDS
  #futileUntil = Number.NEGATIVE_INFINITY

  /** @param inFlight calls in flight, including this one, when it started */
  ended(refused: boolean, startedAt: number, inFlight: number, nowMs: number): void {
    if (startedAt < this.#changedAt) return
    if (refused) this.#refused++
    else this.#served++
    this.#peak = Math.max(this.#peak, inFlight)
    if (this.limit === Number.POSITIVE_INFINITY) this.#unlimited(nowMs)
    else if (this.#safe !== undefined) this.#tried(this.#safe, nowMs)
    else this.#limited(nowMs)
  }

  get #share(): number {
    return this.#refused / (this.#refused + this.#served)
  }

  #refuses(least: number): boolean {
    return this.#refused >= LEAST_REFUSALS && this.#share >= Math.max(LEAST_SHARE, least)
  }

  #unlimited(nowMs: number): void {
    const isFull = this.#served + this.#refused >= EPOCH
    const storms = this.#refused >= STORM_REFUSALS && this.#share >= STORM_SHARE
    if ((storms || (isFull && this.#share >= LEAST_SHARE)) && nowMs >= this.#futileUntil) {
      this.#shareBefore = this.#share
      this.#lower(nowMs)
    } else if (isFull) this.#countAnew()
  }

  #limited(nowMs: number): void {
    if (this.#refuses(HELPFUL_RATIO * this.#shareBefore)) {
      if (this.limit > 1) this.#lower(nowMs)
      else if (this.#refused + this.#served >= MIN_ENDED_CALLS) {
        this.#futileUntil = nowMs + FUTILE_MS
        this.#set(Number.POSITIVE_INFINITY, nowMs)
      }
      return
    }
    const isOld = nowMs - this.#changedAt >= RETRY_MS
    if (this.#served >= MIN_ENDED_CALLS && (isOld || this.#served >= this.#rounds * this.limit)) {
      this.#safe = this.limit
      this.#set(this.limit + this.#step, nowMs)
    }
  }

  /** A limit above the safe one is being tried. */
  #tried(safe: number, nowMs: number): void {
    if (this.#refuses(LEAST_SHARE)) {
      this.#safe = undefined
      this.#rounds = this.#step > 1 ? ROUNDS : Math.min(2 * this.#rounds, MOST_ROUNDS)
      this.#step = 1
      this.#set(safe, nowMs)
    } else if (this.#served >= Math.max(MIN_ENDED_CALLS, this.limit)) {
      this.#safe = undefined
      this.#step *= 2
      this.#rounds = ROUNDS
      this.#set(this.limit, nowMs)
    }
  }

  #lower(nowMs: number): void {
    this.#step = 1
    this.#rounds = ROUNDS
    this.#set(Math.max(1, Math.floor(Math.min(this.limit, this.#peak) / 2)), nowMs)
  }

  #set(limit: number, nowMs: number): void {
    this.limit = limit
    this.#changedAt = nowMs
    this.#countAnew()
  }

  #countAnew(): void {
    this.#served = 0
    this.#refused = 0
    this.#peak = 0
  }
}
