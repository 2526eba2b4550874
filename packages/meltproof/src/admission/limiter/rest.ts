/**
 * The phase in which the limit is known: it rises when it holds too little work, and is probed from time to time. Pure.
 */
import { floorOf, lower, type Measured, rest, type SearchTuning, type Step } from './search.ts'

export interface RestTuning extends SearchTuning {
  /** How long a limit is trusted before half of it is tried, ms. */
  readonly lookEveryMs: number
}

/** Weight of one more measurement in the mean rate. */
const RATE_WEIGHT = 0.2
/** Measurements before the limit may rise. */
const SURE = 5
/** The limit rises when its floor exceeds it by this factor. */
const RAISED = 1.25
/** The factor when the loop is scarce: there the rate depends on the number of cheap requests too. */
const RAISED_BY_LOOP = 2

export class Rest {
  readonly #tuning: RestTuning
  readonly #lookAt: number
  #count = 0
  rate = 0

  constructor(nowMs: number, tuning: RestTuning) {
    this.#tuning = tuning
    this.#lookAt = nowMs + tuning.lookEveryMs
  }

  measured(measured: Measured, nowMs: number): Step | undefined {
    this.rate = this.#count === 0 ? measured.rate : this.rate + (measured.rate - this.rate) * RATE_WEIGHT
    this.#count++
    const mean = { ...measured, rate: this.rate }
    const floor = floorOf(mean, this.#tuning)
    const raised = measured.byLoop ? RAISED_BY_LOOP : RAISED
    if (this.#count >= SURE && floor > raised * measured.limit) return rest(floor)
    return nowMs >= this.#lookAt ? lower(mean, this.#tuning) : undefined
  }
}
