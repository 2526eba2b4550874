/**
 * Decides after a halt whether the dependency had stopped or has become slower. The limit of a halt is low, so that a
 * dependency that had stopped finds no backlog when it works again, and requests then leave as before. "Requests of the
 * halt" were in service when it was found. If these have left, and hardly any later one leaves, the dependency has
 * become slower for all, and its requests wait for nothing that is scarce. Pure.
 */

/** Requests that leave at less than this share of the rate before the halt do not leave as before. */
const HARDLY_ANY = 1 / 4
/** Requests that leave at more than this many times the rate before the halt return at once. */
const AT_ONCE = 4
/** Requests are watched for `promiseMs`, plus this many service times from before the halt. */
const SERVICE_TIMES = 2

export class AfterHalt {
  readonly #promiseMs: number
  #rate = 0
  #ofAll = 0
  #spanMs = 0
  #later = 0
  #since = 0
  /** Last time at which none of the requests of the halt had left, ms. */
  #silentAt = 0
  #areGone = false
  #found: 'slower' | 'as before' | undefined

  constructor(promiseMs: number) {
    this.#promiseMs = promiseMs
  }

  /**
   * `rate`, `ofAll` and `aloneMs`: answers per ms, weighted and without weights, and service time, before the halt.
   * `later`: as for {@link judge}.
   */
  begin(nowMs: number, rate: number, ofAll: number, aloneMs: number, later: number): void {
    this.#rate = rate
    this.#ofAll = ofAll
    this.#spanMs = this.#promiseMs + SERVICE_TIMES * aloneMs
    this.#silentAt = nowMs
    this.#areGone = false
    this.#found = undefined
    this.#watch(nowMs, later)
  }

  /** True if half of the requests of the halt have left far faster than usual: they waited for nothing scarce. */
  returnedAtOnce(nowMs: number, left: number, halted: number): boolean {
    if (left === 0) this.#silentAt = nowMs
    return 2 * left >= halted && left >= AT_ONCE * this.#ofAll * (nowMs - this.#silentAt)
  }

  /**
   * Call it while no more requests count than `limit` allows. `halted`: requests of the halt that are still in service.
   * Some may never leave, and do not matter if later ones leave as before. `later`: number of answers, since any fixed
   * time, to requests that are not of the halt. Undefined if it is too early to tell.
   */
  judge(nowMs: number, halted: number, limit: number, later: number): 'slower' | 'as before' | undefined {
    if (this.#found !== undefined) return this.#found
    if (!this.#areGone && halted <= limit) {
      this.#areGone = true
      this.#watch(nowMs, later)
    }
    const watchedMs = nowMs - this.#since
    if (watchedMs < this.#spanMs) return undefined
    if (later - this.#later >= HARDLY_ANY * this.#rate * watchedMs) this.#found = 'as before'
    else if (this.#areGone) this.#found = 'slower'
    this.#watch(nowMs, later)
    return this.#found
  }

  #watch(nowMs: number, later: number): void {
    this.#since = nowMs
    this.#later = later
  }
}
