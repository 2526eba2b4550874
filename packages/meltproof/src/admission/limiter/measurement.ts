/** Measures throughput under one limit, from the requests answered under it. Pure. */
import { type Answered, Answers } from './answers.ts'

export interface MeasurementTuning {
  /** Answers a measurement needs, so that its noise is below the differences it looks for. */
  readonly samples: number
  /** Shortest measurement, ms: one turn of the loop may admit dozens of cheap requests that waited. */
  readonly leastWindowMs: number
  /** Longest measurement, ms, unless a few service times take longer. */
  readonly maxWindowMs: number
}

/** A measurement counts if requests waited during at least this share of it. */
const BOUND = 0.5

export class Measurement {
  readonly #tuning: MeasurementTuning
  readonly #answers: Answers
  #overMs = 0
  #boundMs = 0
  #passedAt = 0

  constructor(tuning: MeasurementTuning, answered: Answered) {
    this.#answers = new Answers(answered)
    this.#tuning = tuning
  }

  begin(nowMs: number): void {
    this.#answers.restart()
    this.#passedAt = nowMs
    this.#overMs = 0
    this.#boundMs = 0
  }

  /** `waits`: whether requests have waited since the last call. */
  pass(nowMs: number, waits: boolean): void {
    const elapsedMs = nowMs - this.#passedAt
    this.#overMs += elapsedMs
    if (waits) this.#boundMs += elapsedMs
    this.#passedAt = nowMs
  }

  get isBound(): boolean {
    return this.#boundMs >= BOUND * this.#overMs
  }

  get heavyMs(): number {
    return this.#answers.heavyMs
  }

  /** Answers per ms (answers.ts). */
  get rate(): number {
    return Math.max(this.#answers.count, 1) / this.#overMs
  }

  /**
   * True if the measurement is long enough to compare throughputs. Requests that share a pool leave in volleys, one per
   * service time, and it must contain several. `spanMs`: expected duration of a request.
   */
  suffices(spanMs: number): boolean {
    const { samples, leastWindowMs, maxWindowMs } = this.#tuning
    const { meanMs, count } = this.#answers
    if (this.#overMs < Math.max(leastWindowMs, 2 * spanMs, Math.min(3 * meanMs, maxWindowMs))) return false
    return count >= samples || this.#overMs >= Math.max(maxWindowMs, 4 * meanMs)
  }
}
