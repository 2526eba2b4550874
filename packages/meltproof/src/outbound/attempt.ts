/** One attempt of retry(). Its HTTP calls decide whether another attempt may follow, and after what wait. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { now, wallClockMs } from '../clock.ts'
import { type Headers, headerOf } from './headers.ts'
import { retryAfterMs } from './retry-after.ts'
import type { RetryBudget } from './retry-budget.ts'

const storage = new AsyncLocalStorage<Attempt>()

export class Attempt {
  readonly #methods: ReadonlySet<string>
  readonly #budget: RetryBudget
  /** The enclosing attempt, when retry() is called inside another. */
  readonly #outer: Attempt | undefined = storage.getStore()
  /** False after a call that must not be repeated. */
  repeatable = true
  /** An answer asked its client to wait until this time. */
  notBeforeMs: number = Number.NEGATIVE_INFINITY
  /** True after the attempt. Calls that its work makes later do not belong to it. */
  ended = false

  /** @param methods HTTP methods that may be repeated */
  constructor(methods: ReadonlySet<string>, budget: RetryBudget) {
    this.#methods = methods
    this.#budget = budget
  }

  /** True if `budget` pays for this attempt or for an enclosing one. */
  isPaidFrom(budget: RetryBudget): boolean {
    return this.#budget === budget || this.#outer?.isPaidFrom(budget) === true
  }

  run<R>(fn: () => R): R {
    return storage.run(this, fn)
  }

  began(method: string): void {
    if (!this.ended && !this.#methods.has(method.toUpperCase())) this.repeatable = false
    this.#outer?.began(method)
  }

  answered(status: number | undefined, headers: Headers): void {
    if (Number(status) < 400) return
    const waitMs = retryAfterMs(headerOf(headers, 'retry-after'), headerOf(headers, 'date'), wallClockMs)
    if (waitMs !== undefined) this.#wait(now() + waitMs)
  }

  #wait(untilMs: number): void {
    if (!this.ended) this.notBeforeMs = Math.max(this.notBeforeMs, untilMs)
    if (this.#outer !== undefined) this.#outer.#wait(untilMs)
  }
}

export function currentAttempt(): Attempt | undefined {
  const attempt = storage.getStore()
  return attempt?.ended === true ? undefined : attempt
}
