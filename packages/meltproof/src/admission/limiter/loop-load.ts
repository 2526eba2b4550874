/** Whether the event loop itself is the scarce thing. Pure. */

export interface LoopLoadTuning {
  /** Busy for more than this share of the time, the loop is scarce: more concurrency can not help. */
  readonly loopBusy: number
  /** That is judged over no less than this, ms: a few turns of a healthy loop may all be busy. */
  readonly busyWindowMs: number
  /** So many windows in a row: one may be a garbage collection. */
  readonly busyToLimit: number
}

export class LoopLoad {
  /** Cumulative milliseconds the loop was busy; differences count. */
  readonly #busyMs: () => number
  readonly #tuning: LoopLoadTuning
  #judgedAt = 0
  #busyThen = 0
  #windows = 0

  constructor(busyMs: () => number, tuning: LoopLoadTuning) {
    this.#busyMs = busyMs
    this.#tuning = tuning
  }

  /** The last window was busy. */
  get busy(): boolean {
    return this.#windows > 0
  }

  /** It has been busy for long enough. */
  get scarce(): boolean {
    return this.#windows >= this.#tuning.busyToLimit
  }

  judge(nowMs: number): void {
    const elapsed = nowMs - this.#judgedAt
    if (elapsed < this.#tuning.busyWindowMs) return
    const busyMs = this.#busyMs()
    this.#windows = busyMs - this.#busyThen >= this.#tuning.loopBusy * elapsed ? this.#windows + 1 : 0
    this.#judgedAt = nowMs
    this.#busyThen = busyMs
  }
}
