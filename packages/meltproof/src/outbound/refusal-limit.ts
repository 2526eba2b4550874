/**
 * How many calls in flight an origin takes without refusing some. While it refuses, the limit halves; while it does not, the
 * limit grows. An origin that refuses one call at a time as often as many does not refuse because of their number, and has
 * no limit. Pure.
 */

/** Refused and served calls are counted anew after this many. */
const EPOCH = 100
/** Share of refused calls from which a limit is worth its cost. */
const LEAST_SHARE = 0.2
/** This many refusals, of at least this share, lower the limit before the epoch ends. */
const STORM = 10
const STORM_SHARE = 0.35
/** At a limit that is being judged, fewer refusals are chance. */
const LEAST_REFUSALS = 3
/** Calls that must have ended before a limit is judged good. */
const ENOUGH = 15
/** A limit has helped when the share of refusals is below this part of what it was without one. */
const HELPED = 0.5
/** Where no limit has helped, none is tried for this long, ms. */
const FUTILE_MS = 10_000
/** A limit grows once it was served this many times over; twice as many each time that the next one was refused. */
const ROUNDS = 2
const MOST_ROUNDS = 64
/** A higher limit is tried at the latest after this, ms. */
const RETRY_MS = 2000

export class RefusalLimit {
  #limit = Number.POSITIVE_INFINITY
  /** Calls that started before say nothing of this limit. */
  #changedAt = Number.NEGATIVE_INFINITY
  #served = 0
  #refused = 0
  #peak = 0
  /** The share that was refused without a limit. */
  #shareBefore = 0
  /** The last limit that was good, while a higher one is tried. */
  #safe: number | undefined
  #step = 1
  #rounds = ROUNDS
  #futileUntil = Number.NEGATIVE_INFINITY

  get limit(): number {
    return this.#limit
  }

  /** @param inFlight calls in flight when this one started, with it */
  ended(refused: boolean, startedAt: number, inFlight: number, nowMs: number): void {
    if (startedAt < this.#changedAt) return
    if (refused) this.#refused++
    else this.#served++
    this.#peak = Math.max(this.#peak, inFlight)
    if (this.#limit === Number.POSITIVE_INFINITY) this.#unlimited(nowMs)
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
    const storms = this.#refused >= STORM && this.#share >= STORM_SHARE
    if ((storms || (isFull && this.#share >= LEAST_SHARE)) && nowMs >= this.#futileUntil) {
      this.#shareBefore = this.#share
      this.#lower(nowMs)
    } else if (isFull) this.#countAnew()
  }

  #limited(nowMs: number): void {
    if (this.#refuses(HELPED * this.#shareBefore)) {
      if (this.#limit > 1) this.#lower(nowMs)
      else if (this.#refused + this.#served >= ENOUGH) {
        this.#futileUntil = nowMs + FUTILE_MS
        this.#set(Number.POSITIVE_INFINITY, nowMs)
      }
    } else if (this.#served >= ENOUGH && (this.#served >= this.#rounds * this.#limit || this.#isOld(nowMs))) {
      this.#safe = this.#limit
      this.#set(this.#limit + this.#step, nowMs)
    }
  }

  #isOld(nowMs: number): boolean {
    return nowMs - this.#changedAt >= RETRY_MS
  }

  /** A higher limit than the safe one is being tried. */
  #tried(safe: number, nowMs: number): void {
    if (this.#refuses(LEAST_SHARE)) {
      this.#safe = undefined
      this.#rounds = this.#step > 1 ? ROUNDS : Math.min(2 * this.#rounds, MOST_ROUNDS)
      this.#step = 1
      this.#set(safe, nowMs)
    } else if (this.#served >= Math.max(ENOUGH, this.#limit)) {
      this.#safe = undefined
      this.#step *= 2
      this.#rounds = ROUNDS
      this.#set(this.#limit, nowMs)
    }
  }

  #lower(nowMs: number): void {
    this.#step = 1
    this.#rounds = ROUNDS
    this.#set(Math.max(1, Math.floor(Math.min(this.#limit, this.#peak) / 2)), nowMs)
  }

  #set(limit: number, nowMs: number): void {
    this.#limit = limit
    this.#changedAt = nowMs
    this.#countAnew()
  }

  #countAnew(): void {
    this.#served = 0
    this.#refused = 0
    this.#peak = 0
  }
}
