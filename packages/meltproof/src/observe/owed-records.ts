/**
 * Records a value many times in a histogram that accepts one at a time, such as OpenTelemetry's. Only a few are
 * recorded per step, because tens of thousands of sheds at once would stall the loop.
 */
import { clearTimeout, setTimeout } from 'node:timers'
import { bucketOf, DURATION_BOUNDARIES_S } from '../record.ts'

/** Records per step: at 0.6 us each, this takes less than a hundredth of the loop's time. */
const AT_ONCE = 1000
const EVERY_MS = 100

type Take = (value: number) => void

interface Owed {
  count: number
  sum: number
}

export class OwedRecords {
  /** Values to record, by histogram and bucket. Their mean, which is in the same bucket, is recorded for each. */
  readonly #owed = new Map<Take, Map<number, Owed>>()
  #timer: NodeJS.Timeout | undefined

  /** `take` must be the same function for the same histogram and labels. */
  owe(take: Take, value: number, times: number): void {
    const ofTake = this.#owed.get(take) ?? new Map<number, Owed>()
    this.#owed.set(take, ofTake)
    const bucket = bucketOf(value, DURATION_BOUNDARIES_S)
    const owed = ofTake.get(bucket) ?? { count: 0, sum: 0 }
    ofTake.set(bucket, owed)
    owed.count += times
    owed.sum += value * times
    this.#timer ??= setTimeout(this.#payLittle, EVERY_MS).unref()
  }

  /** Records all remaining values now. */
  end(): void {
    clearTimeout(this.#timer)
    this.#pay(Number.POSITIVE_INFINITY)
  }

  readonly #payLittle = (): void => this.#pay(AT_ONCE)

  #pay(most: number): void {
    let left = most
    for (const [take, ofTake] of this.#owed) {
      for (const [bucket, owed] of ofTake) {
        const mean = owed.sum / owed.count
        const paid = Math.min(left, owed.count)
        for (let i = 0; i < paid; i++) take(mean)
        owed.count -= paid
        owed.sum -= mean * paid
        left -= paid
        if (owed.count === 0) ofTake.delete(bucket)
      }
      if (ofTake.size === 0) this.#owed.delete(take)
    }
    this.#timer = this.#owed.size === 0 ? undefined : setTimeout(this.#payLittle, EVERY_MS).unref()
  }
}
