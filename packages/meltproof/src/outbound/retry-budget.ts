/** Limits retries: if a process retried every call to a failing dependency, the load on it would double. Pure. */
import { checkNumber, checkObject, rejectUnknown } from '../options.ts'

/** @experimental */
export interface RetryBudgetOptions {
  /** Retries earned by each first attempt. @default 0.1 */
  readonly ratio?: number
  /** Retries per second that are always allowed, even with few calls. @default 1 */
  readonly minPerSecond?: number
  /** Maximum number of retries saved up for a burst. @default 10 */
  readonly burst?: number
}

const ROUNDING = 1e-9

/** @experimental */
export class RetryBudget {
  readonly #ratio: number
  readonly #minPerSecond: number
  readonly #burst: number
  #tokens: number
  #atMs: number | undefined

  constructor(options: RetryBudgetOptions = {}) {
    checkObject('the options of RetryBudget', options, 'an object such as { ratio: 0.1 }')
    rejectUnknown('RetryBudget', options, ['ratio', 'minPerSecond', 'burst'])
    this.#ratio = checkNumber('ratio', options.ratio ?? 0.1, { min: 0, max: 1 })
    this.#minPerSecond = checkNumber('minPerSecond', options.minPerSecond ?? 1, { min: 0, max: 1_000 })
    this.#burst = checkNumber('burst', options.burst ?? 10, { min: 1, max: 10_000 })
    this.#tokens = this.#burst
  }

  attempted(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + this.#ratio)
  }

  take(nowMs: number): boolean {
    if (this.#atMs !== undefined && nowMs > this.#atMs) {
      this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * this.#minPerSecond)
    }
    this.#atMs = Math.max(nowMs, this.#atMs ?? nowMs)
    if (this.#tokens + ROUNDING < 1) return false
    this.#tokens -= 1
    return true
  }
}
