/** Decides which seconds of a side count for which load, for the page and for the report. Pure, and bounded. */
import type { LoadSecond } from '../load/plan.ts'
import { keptOf, toneOf } from '../report/standing.ts'

/** A load with fewer counted seconds is not judged: one slow second would be too large a share of it. */
export const LEAST_SECONDS = 5
/**
 * A second counts after this many seconds of the same load. With the default timeout, requests of the earlier load have
 * ended by then.
 */
const SETTLES_S = 2
/** Maximum time for recovery after a decrease of the load, s: one that needs longer counts as not recovered. */
const RECOVERS_S = 10

export class CountedSeconds {
  readonly #capacity: number
  readonly #before: (number | null)[] = []
  readonly #byLoad = new Map<number, { readonly seconds: number; readonly good: number }>()
  #highest = 0
  #leftS = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** True while the side works off a backlog, after the load fell from above the capacity. */
  get isRecovering(): boolean {
    return this.#leftS > 0
  }

  /** Adds the next second; `load` is null if it changed. Returns the load that the second counts for, or null. */
  add(load: number | null, { scheduled, good }: Pick<LoadSecond, 'scheduled' | 'good'>): number | null {
    if (load !== null && load < this.#highest) {
      if (this.#highest > 1) this.#leftS = RECOVERS_S
      this.#highest = load
    }
    this.#highest = Math.max(this.#highest, load ?? 0)
    const kept = keptOf({ goodput: good, offered: scheduled, ofCapacity: good / this.#capacity })
    this.#leftS = toneOf(kept) === 'good' && load !== null ? 0 : this.#leftS - 1
    // The first second never counts: its connections are cold.
    const isSettled = this.#before.length > 0 && this.#before.every(each => each === load)
    this.#before.push(load)
    if (this.#before.length > SETTLES_S) this.#before.shift()
    if (load === null || !isSettled || this.isRecovering) return null
    const held = this.#byLoad.get(load) ?? { seconds: 0, good: 0 }
    this.#byLoad.set(load, { seconds: held.seconds + 1, good: held.good + good })
    return load
  }

  /** Good answers per second at a load; null while too few seconds count. */
  goodAt(load: number): number | null {
    const { seconds, good } = this.#byLoad.get(load) ?? { seconds: 0, good: 0 }
    return seconds < LEAST_SECONDS ? null : Math.round((10 * good) / seconds) / 10
  }
}
