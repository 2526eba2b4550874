/** Answers per millisecond, weighted by service time (answers.ts): the present rate, and the usual one. Pure. */
import { Answers } from './answers.ts'

/** Each window lowers the usual rate by this share, unless the window's rate is higher. */
const FORGOTTEN = 0.1

export class UsualRate {
  readonly #windowMs: number
  readonly #answers = new Answers()
  #since = 0
  #last = 0
  /** The recent peak; 0 before the first window has passed. */
  usual = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  answered(nowMs: number, serviceMs: number): void {
    if (this.#answers.all === 0 && this.usual === 0) this.#since = nowMs
    this.#answers.add(serviceMs)
    const elapsedMs = nowMs - this.#since
    if (elapsedMs < this.#windowMs) return
    this.#last = this.#answers.count / elapsedMs
    this.usual = Math.max(this.usual * (1 - FORGOTTEN), this.#last)
    this.#answers.clear()
    this.#since = nowMs
  }

  /** The rate over the last one to two windows. */
  lately(nowMs: number): number {
    const lastMs = this.#last > 0 ? this.#windowMs : 0
    return (this.#last * lastMs + this.#answers.count) / Math.max(1, lastMs + nowMs - this.#since)
  }
}
