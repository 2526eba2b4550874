/** Records how long the garbage collector blocked the main thread. */
import { PerformanceObserver } from 'node:perf_hooks'
import type { Interval } from '../record.ts'

/** Maximum number of collections that are stored, about as many as in one long stall. */
const MOST = 1000

export class Garbage {
  readonly #collections: Interval[] = []
  readonly #observer: PerformanceObserver = new PerformanceObserver(list => this.#note(list.getEntries()))

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  collectedBetween(fromMs: number, toMs: number): number {
    this.#note(this.#observer.takeRecords())
    return this.#collections.reduce(
      (sum, each) => sum + Math.max(0, Math.min(each.toMs, toMs) - Math.max(each.fromMs, fromMs)),
      0,
    )
  }

  close(): void {
    this.#observer.disconnect()
  }

  #note(entries: readonly { readonly startTime: number; readonly duration: number }[]): void {
    for (const { startTime, duration } of entries) {
      // Short collections are frequent and cause no stall.
      if (duration < 1) continue
      if (this.#collections.push({ fromMs: startTime, toMs: startTime + duration }) > MOST) this.#collections.shift()
    }
  }
}
