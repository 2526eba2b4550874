/** Throughput under one limit, from the requests answered under it. Pure. */

export interface MeasurementTuning {
  /** Answers a measurement needs, so that its noise is below the differences it looks for. */
  readonly samples: number
  /** Shortest measurement, ms: one busy turn of the loop may answer dozens of cheap requests. */
  readonly busyWindowMs: number
  /** Longest measurement, ms, unless a single service is longer. */
  readonly maxWindowMs: number
}

export class Measurement {
  readonly #tuning: MeasurementTuning
  #overMs = 0
  #busyMs = 0
  #answers = 0
  #servedMs = 0
  #squares = 0
  #passedAt = 0
  #busyThen = 0

  constructor(tuning: MeasurementTuning) {
    this.#tuning = tuning
  }

  begin(): void {
    this.#overMs = 0
    this.#busyMs = 0
    this.#answers = 0
    this.#servedMs = 0
    this.#squares = 0
  }

  /** `busyMs`: busy time of the loop, cumulative. `counts`: whether the limit mattered since the last call. */
  pass(nowMs: number, busyMs: number, counts: boolean): void {
    if (counts) {
      this.#overMs += nowMs - this.#passedAt
      this.#busyMs += busyMs - this.#busyThen
    }
    this.#passedAt = nowMs
    this.#busyThen = busyMs
  }

  answered(serviceMs: number): void {
    this.#answers++
    this.#servedMs += serviceMs
    this.#squares += serviceMs * serviceMs
  }

  get busy(): number {
    return this.#busyMs / this.#overMs
  }

  get meanMs(): number {
    return this.#servedMs / Math.max(this.#answers, 1)
  }

  get rate(): number {
    return Math.max(this.#answers, 1) / this.#overMs
  }

  /** Of the requests that did most of the work: the limit does not decide how many cheap ones come among them. */
  get rateByWork(): number {
    return Math.max(this.#effectiveAnswers, 1) / this.#overMs
  }

  get #effectiveAnswers(): number {
    return this.#squares === 0 ? 0 : this.#servedMs ** 2 / this.#squares
  }

  /**
   * Enough to compare throughputs. Requests that share a pool leave in volleys, one per service time: several must fit.
   */
  get suffices(): boolean {
    const { meanMs } = this
    const { samples, busyWindowMs, maxWindowMs } = this.#tuning
    if (this.#overMs < Math.max(busyWindowMs, Math.min(3 * meanMs, maxWindowMs))) return false
    return this.#effectiveAnswers >= samples || this.#overMs >= Math.max(maxWindowMs, 4 * meanMs)
  }
}
