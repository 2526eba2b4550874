/** Throughput under one limit, from those who were answered under it. Pure. */

export interface MeasurementTuning {
  /** Answers a measurement needs, so that its noise is below the differences that are looked for. */
  readonly samples: number
  /** No measurement is shorter, ms: in one turn of the loop, all of it busy, dozens of cheap requests may be answered. */
  readonly busyWindowMs: number
  /** No measurement is longer, ms, unless a single service is. */
  readonly maxWindowMs: number
}

export class Measurement {
  readonly #tuning: MeasurementTuning
  /** For how long it has counted, and for how much of that the loop was busy, ms. */
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

  /** Time has passed. `busyMs`: what the loop was busy for, ever. `counts`: whether the limit mattered meanwhile. */
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

  /** Share of the time in which the loop was busy. */
  get busy(): number {
    return this.#busyMs / this.#overMs
  }

  /** Mean service time, ms. */
  get meanMs(): number {
    return this.#servedMs / Math.max(this.#answers, 1)
  }

  /** Answers per ms. */
  get rate(): number {
    return Math.max(this.#answers, 1) / this.#overMs
  }

  /** Those of the requests that did most of the work: how many cheap ones come among them is not the limit's doing. */
  get rateByWork(): number {
    return Math.max(this.#effectiveAnswers, 1) / this.#overMs
  }

  /** The effective size of the sample (Kish 1965): as many answers as did most of the work. */
  get #effectiveAnswers(): number {
    return this.#squares === 0 ? 0 : this.#servedMs ** 2 / this.#squares
  }

  /** Enough to compare throughputs. Requests that share a pool leave in volleys, one a service time: whole ones must fit. */
  get suffices(): boolean {
    const { meanMs } = this
    const { samples, busyWindowMs, maxWindowMs } = this.#tuning
    if (this.#overMs < Math.max(busyWindowMs, Math.min(3 * meanMs, maxWindowMs))) return false
    return this.#effectiveAnswers >= samples || this.#overMs >= Math.max(maxWindowMs, 4 * meanMs)
  }
}
