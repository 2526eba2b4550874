/** Answers per millisecond, weighted by service time (answers.ts): the present rate, and the usual one. Pure. */
import { type Answered, Answers } from './answers.ts'

/** Each window lowers the usual rate by this share, unless the window's rate is higher. */
const FORGOTTEN = 0.1

export class UsualRate {
  readonly #windowMs: number
  readonly #answers: Answers
  #since = 0
  #last = 0
  /** The recent peak; 0 before the first window has passed. */
  usual = 0
  /** The same for all answers without weights. */
  usualOfAll = 0
  /** When {@link update} is next due, ms. */
  dueAt = 0

  constructor(windowMs: number, answered: Answered) {
    this.#windowMs = windowMs
    this.#answers = new Answers(answered)
  }

  /** Called after an answer at {@link dueAt} or later. */
  update(nowMs: number): void {
    if (this.usual === 0 && this.#answers.all === 1) this.#since = nowMs
    const elapsedMs = nowMs - this.#since
    this.dueAt = (elapsedMs < this.#windowMs ? this.#since : nowMs) + this.#windowMs
    if (elapsedMs < this.#windowMs) return
    this.#last = this.#answers.count / elapsedMs
    this.usual = Math.max(this.usual * (1 - FORGOTTEN), this.#last)
    this.usualOfAll = Math.max(this.usualOfAll * (1 - FORGOTTEN), this.#answers.all / elapsedMs)
    this.#answers.restart()
    this.#since = nowMs
  }

  /** The rate over the last one to two windows. */
  lately(nowMs: number): number {
    const lastMs = this.#last > 0 ? this.#windowMs : 0
    return (this.#last * lastMs + this.#answers.count) / Math.max(1, lastMs + nowMs - this.#since)
  }
}
