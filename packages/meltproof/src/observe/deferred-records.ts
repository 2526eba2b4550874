/**
 * Records a value many times in a histogram that accepts one at a time, such as OpenTelemetry's. Each step records at
 * most AT_ONCE values, because tens of thousands of sheds at once would stall the loop.
 */
import { clearTimeout, setTimeout } from 'node:timers'
import { bucketOf, DURATION_BOUNDARIES_S } from '../record.ts'

/** Records per step: at 0.6 us each, this takes less than a hundredth of the loop's time. */
const AT_ONCE = 1000
const EVERY_MS = 100

type Take = (value: number) => void

interface Deferred {
  count: number
  sum: number
}

export class DeferredRecords {
  /** Values to record, by histogram and bucket. Their mean, which is in the same bucket, is recorded for each. */
  readonly #deferred = new Map<Take, Map<number, Deferred>>()
  #timer: NodeJS.Timeout | undefined

  /** `take` must be the same function for the same histogram and labels. */
  defer(take: Take, value: number, times: number): void {
    const ofTake = this.#deferred.get(take) ?? new Map<number, Deferred>()
    this.#deferred.set(take, ofTake)
    const bucket = bucketOf(value, DURATION_BOUNDARIES_S)
    const deferred = ofTake.get(bucket) ?? { count: 0, sum: 0 }
    ofTake.set(bucket, deferred)
    deferred.count += times
    deferred.sum += value * times
    this.#timer ??= setTimeout(this.#recordSome, EVERY_MS).unref()
  }

  /** Records all remaining values now. */
  end(): void {
    clearTimeout(this.#timer)
    this.#record(Number.POSITIVE_INFINITY)
  }

  readonly #recordSome = (): void => this.#record(AT_ONCE)

  #record(most: number): void {
    let left = most
    for (const [take, ofTake] of this.#deferred) {
      for (const [bucket, deferred] of ofTake) {
        const mean = deferred.sum / deferred.count
        const recorded = Math.min(left, deferred.count)
        for (let i = 0; i < recorded; i++) take(mean)
        deferred.count -= recorded
        deferred.sum -= mean * recorded
        left -= recorded
        if (deferred.count === 0) ofTake.delete(bucket)
      }
      if (ofTake.size === 0) this.#deferred.delete(take)
    }
    this.#timer = this.#deferred.size === 0 ? undefined : setTimeout(this.#recordSome, EVERY_MS).unref()
  }
}
