/**
 * Steadies what balancers are told. They weigh an instance by what it would serve at its capacity (offered over load), they
 * hear of it a second late, and what it is offered follows the weight: by the last second's figures alone, instances behind
 * a pool swing between half and twice their share, and shed. So that capacity is a mean over some seconds. A change beyond
 * what chance makes of it is believed sooner. Pure.
 */
import type { LoadFigures } from '../../process-gate.ts'

/** Weight of a capacity by its age, ms; and of one that is far from the mean, or of a process that has just started. */
const STEADY_MS = 3000
const QUICK_MS = 500
/** So many times the mean, or as small a part of it. */
const FAR = 1.5

export class SteadyLoad {
  #capacity: number | undefined
  #bornMs = 0
  #lastMs = 0

  /** The same figures, with a load that follows from the steady capacity and what is offered now. */
  steadied(figures: LoadFigures, nowMs: number): LoadFigures {
    const { offeredPerS } = figures
    const now = offeredPerS / (figures.utilisation * figures.demand)
    if (!(now > 0 && now < Number.POSITIVE_INFINITY)) return figures
    const capacity = this.#follow(now, nowMs)
    const load = offeredPerS / capacity
    return { ...figures, utilisation: Math.min(1, load), demand: Math.max(1, load) }
  }

  #follow(now: number, nowMs: number): number {
    const passedMs = Math.max(0, nowMs - this.#lastMs)
    this.#lastMs = nowMs
    if (this.#capacity === undefined) {
      this.#bornMs = nowMs
      this.#capacity = now
      return now
    }
    const isFar = now > FAR * this.#capacity || FAR * now < this.#capacity
    const ageMs = isFar ? QUICK_MS : Math.min(STEADY_MS, Math.max(QUICK_MS, nowMs - this.#bornMs))
    this.#capacity += (now - this.#capacity) * (1 - Math.exp(-passedMs / ageMs))
    return this.#capacity
  }
}
