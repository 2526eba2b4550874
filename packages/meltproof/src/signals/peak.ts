/** The highest number of requests in service lately: at a single moment few may be in service. Pure. */

const INTERVAL_MS = 1000

export class Peak {
  #sinceMs = 0
  #most = 0
  #before = 0

  note(inService: number, nowMs: number): void {
    if (nowMs - this.#sinceMs >= INTERVAL_MS) {
      this.#before = nowMs - this.#sinceMs < 2 * INTERVAL_MS ? this.#most : 0
      this.#most = 0
      this.#sinceMs = nowMs
    }
    this.#most = Math.max(this.#most, inService)
  }

  /** The highest number in the last one to two seconds. */
  get most(): number {
    return Math.max(this.#most, this.#before)
  }
}
