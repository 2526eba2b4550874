/** How many requests leave per millisecond, of late and usually (answers.ts). Pure. */
import { Answers } from './answers.ts'

export class UsualRate {
  readonly #windowMs: number
  readonly #answers = new Answers()
  #since = 0
  /** In the last whole window; 0 before the first has passed. */
  usual = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  answered(nowMs: number, serviceMs: number): void {
    if (this.#answers.all === 0 && this.usual === 0) this.#since = nowMs
    this.#answers.add(serviceMs)
    const elapsedMs = nowMs - this.#since
    if (elapsedMs < this.#windowMs) return
    this.usual = this.#answers.count / elapsedMs
    this.#answers.clear()
    this.#since = nowMs
  }

  /** Over one to two windows. */
  lately(nowMs: number): number {
    const lastMs = this.usual > 0 ? this.#windowMs : 0
    return (this.usual * lastMs + this.#answers.count) / Math.max(1, lastMs + nowMs - this.#since)
  }
}
