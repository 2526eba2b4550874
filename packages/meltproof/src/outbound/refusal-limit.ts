/**
 * How many calls in flight an origin takes without refusing some. It refuses: half as many, until it does not. It does
 * not: a few more are tried from time to time. An origin that refuses one call at a time as often as many does not do so
 * because of their number, and has no limit. Pure.
 */

/** What is refused is counted anew after so many calls. */
const EPOCH = 100
/** A share that is worth a limit; a smaller one costs little. */
const LEAST_SHARE = 0.2
/** So many refusals of this share need not wait for the epoch to end. */
const STORM = 10
const STORM_SHARE = 0.35
/** At a limit that is being judged, fewer refusals are chance. */
const LEAST_REFUSALS = 3
/** Calls that must have ended before a limit is judged good. */
const ENOUGH = 15
/** Refusals that are this much of what they were have not become fewer. */
const NOT_FEWER = 0.5
/** For so long no limit is tried where none helped; twice as long each time, ms. */
const FUTILE_MS = 10_000
const LONGEST_FUTILE_MS = 300_000
/** More are tried after so many times the limit was served; twice as many each time that was refused. */
const ROUNDS = 2
const MOST_ROUNDS = 64
/** and at the latest after so long, ms */
const RETRY_MS = 2_000

export class RefusalLimit {
  #limit = Number.POSITIVE_INFINITY
  /** Calls that started before say nothing of this limit. */
  #changedAt = Number.NEGATIVE_INFINITY
  #served = 0
  #refused = 0
  #peak = 0
  /** The share that was refused without a limit. */
  #shareBefore = 0
  /** The share that is refused at the limit that was kept last. */
  #usualShare = 0
  /** What is gone back to when the limit that is tried refuses. */
  #safe: number | undefined
  #step = 1
  #rounds = ROUNDS
  #futileMs = FUTILE_MS
  #futileUntil = Number.NEGATIVE_INFINITY

  get limit(): number {
    return this.#limit
  }

  /** @param inFlight with it, when it started */
  ended(refused: boolean, startedAt: number, inFlight: number, nowMs: number): void {
    if (startedAt < this.#changedAt) return
    if (refused) this.#refused++
    else this.#served++
    this.#peak = Math.max(this.#peak, inFlight)
    if (this.#limit === Number.POSITIVE_INFINITY) this.#free(nowMs)
    else if (this.#safe !== undefined) this.#tried(nowMs)
    else this.#limited(nowMs)
  }

  get #share(): number {
    return this.#refused / (this.#refused + this.#served)
  }

  #refuses(least: number): boolean {
    return this.#refused >= LEAST_REFUSALS && this.#share >= Math.max(LEAST_SHARE, least)
  }

  #free(nowMs: number): void {
    const isFull = this.#served + this.#refused >= EPOCH
    const storms = this.#refused >= STORM && this.#share >= STORM_SHARE
    if ((storms || (isFull && this.#share >= LEAST_SHARE)) && nowMs >= this.#futileUntil) {
      this.#shareBefore = this.#share
      this.#lower(nowMs)
    } else if (isFull) this.#anew()
  }

  #limited(nowMs: number): void {
    if (this.#refuses(NOT_FEWER * this.#shareBefore)) {
      if (this.#limit > 1) this.#lower(nowMs)
      else if (this.#refused + this.#served >= ENOUGH) this.#futile(nowMs)
    } else if (this.#served >= ENOUGH && (this.#served >= this.#rounds * this.#limit || this.#isOld(nowMs))) {
      this.#usualShare = this.#share
      this.#safe = this.#limit
      this.#set(this.#limit + this.#step, nowMs)
    }
  }

  #isOld(nowMs: number): boolean {
    return nowMs - this.#changedAt >= RETRY_MS
  }

  #tried(nowMs: number): void {
    if (this.#refuses(this.#usualShare + LEAST_SHARE)) {
      const safe = this.#safe!
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

  #futile(nowMs: number): void {
    this.#futileUntil = nowMs + this.#futileMs
    this.#futileMs = Math.min(2 * this.#futileMs, LONGEST_FUTILE_MS)
    this.#set(Number.POSITIVE_INFINITY, nowMs)
  }

  #lower(nowMs: number): void {
    this.#step = 1
    this.#rounds = ROUNDS
    this.#set(Math.max(1, Math.floor(Math.min(this.#limit, this.#peak) / 2)), nowMs)
  }

  #set(limit: number, nowMs: number): void {
    this.#limit = limit
    this.#changedAt = nowMs
    this.#anew()
  }

  #anew(): void {
    this.#served = 0
    this.#refused = 0
    this.#peak = 0
  }
}
