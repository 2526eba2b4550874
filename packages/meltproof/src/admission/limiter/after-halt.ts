/**
 * What a halt was. Its limit is low, so that a dependency which had stopped finds no backlog when it goes on, and requests
 * then leave as before. If the requests of the halt have left, and hardly any later one leaves, the dependency has become
 * slower for all, and its requests wait for nothing that is scarce. Pure.
 */

/** Requests that leave at less than this share of the rate before the halt do not leave as before. */
const HARDLY_ANY = 1 / 4
/** Requests are watched for `promiseMs` and for this many times as long as each took before the halt. */
const SERVICE_TIMES = 2

export class AfterHalt {
  readonly #promiseMs: number
  #rate = 0
  #spanMs = 0
  #later = 0
  #since = 0
  #areGone = false
  #found: 'slower' | 'as before' | undefined

  constructor(promiseMs: number) {
    this.#promiseMs = promiseMs
  }

  /** `rate` and `aloneMs`: answers per ms, and service time, before the halt. `later`: as of {@link judge}. */
  begin(nowMs: number, rate: number, aloneMs: number, later: number): void {
    this.#rate = rate
    this.#spanMs = this.#promiseMs + SERVICE_TIMES * aloneMs
    this.#areGone = false
    this.#found = undefined
    this.#watch(nowMs, later)
  }

  /**
   * Call it while no more requests count than `limit` allows. `halted`: requests of the halt that are still in service. Some
   * may never leave, and do not matter if later ones leave as before. `later`: how many requests that are not of the halt
   * were answered, since any time. Undefined if it is too early to tell.
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
