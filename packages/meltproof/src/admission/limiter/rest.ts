/** The phase in which the limit is known: it is raised when it is worth too little, and doubted from time to time. Pure. */
import { floorOf, lower, type Measured, rest, type SearchTuning, type Step } from './search.ts'

export interface RestTuning extends SearchTuning {
  /** How long a limit is trusted before half of it is tried again, ms. */
  readonly lookEveryMs: number
}

/** Weight of one more measurement in the mean rate. */
const RATE_WEIGHT = 0.2
/** After so many measurements the limit may be raised; */
const SURE = 5
/** when the floor is above it by more than this factor; */
const RAISED = 1.25
/** by this where the loop is scarce: there the rate is also a matter of how many cheap requests are served. */
const RAISED_BY_LOOP = 2

export class Rest {
  readonly #tuning: RestTuning
  readonly #lookAt: number
  #count = 0
  /** Mean, answers per ms. */
  rate = 0

  constructor(nowMs: number, tuning: RestTuning) {
    this.#tuning = tuning
    this.#lookAt = nowMs + tuning.lookEveryMs
  }

  /** One more measurement. Undefined: nothing changes. */
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
