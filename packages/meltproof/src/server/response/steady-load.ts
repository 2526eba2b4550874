/**
 * Smooths the load that balancers receive. They weight an instance by its apparent capacity (offered rate over load)
 * and receive the figures a second late, and the offered rate follows the weight. With figures of the last second only,
 * instances with a database pool swing between half and twice their share, and shed. So the capacity is a mean over
 * some seconds. A change that is larger than chance explains is adopted faster. Pure.
 */
import type { LoadFigures } from '../../process-gate.ts'

/** Time constants of the mean, ms: the usual one, and one after a start or for a capacity far from the mean. */
const STEADY_MS = 3000
const QUICK_MS = 500
/** A capacity is far from the mean if it is above FAR times the mean, or below the mean divided by FAR. */
const FAR = 1.5

export class SteadyLoad {
  #capacity: number | undefined
  #bornMs = 0
  #lastMs = 0

  /** Returns the figures with a load computed from the smoothed capacity and the current offered load. */
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
