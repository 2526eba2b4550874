/** Tells whether the event loop is scarce. Pure. */

export interface LoopLoadTuning {
  /** The loop is scarce when busy for more than this share: more concurrency cannot help. */
  readonly loopBusy: number
  /** Shortest window, ms: a few turns of a healthy loop may all be busy. */
  readonly busyWindowMs: number
  /** Busy windows in a row: one may be a garbage collection. */
  readonly busyToLimit: number
}

export class LoopLoad {
  readonly #busyMs: () => number
  readonly #tuning: LoopLoadTuning
  #judgedAt = 0
  #busyThen = 0
  #windows = 0

  constructor(busyMs: () => number, tuning: LoopLoadTuning) {
    this.#busyMs = busyMs
    this.#tuning = tuning
  }

  get busy(): boolean {
    return this.#windows > 0
  }

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
