/**
 * Compares how long requests take while the event loop is busy with how long they took while the loop rested. Requests
 * that wait for each other take longer. If they take about as long as before, other work keeps the loop busy. Pure.
 */
import { type Answered, Answers } from './answers.ts'

export interface UsualTimesTuning {
  /** Shortest busy time that counts, ms: less may be a garbage collection. Also the interval of comparisons. */
  readonly busyForMs: number
  /** The limit of a busy loop is at least the number of requests that the loop serves in this time, ms. */
  readonly loopWorkMs: number
  /** Number of answers from which the usual time is known. */
  readonly samples: number
  /** An answer within this time counts as in time, ms. */
  readonly promiseMs: number
}

/** Requests wait for each other when they take more than this many times their usual time plus `loopWorkMs`. */
const LONGER = 2
/** Minimum number of answers that show how long requests take. */
export const SHOW = 4

export class UsualTimes {
  /** True if requests take about as long as usual although the loop is busy. */
  areUsual = false
  readonly #tuning: UsualTimesTuning
  readonly #answers: Answers
  #since = 0
  /** Usual service times, ms: of the answers that take most of the time, and the mean; 0 while unknown. */
  #heavyMs = 0
  #meanMs = 0

  constructor(tuning: UsualTimesTuning, answered: Answered) {
    this.#answers = new Answers(answered)
    this.#tuning = tuning
  }

  /** Starts over, because the loop has become busy or begun to rest. */
  begin(nowMs: number): void {
    this.#since = nowMs
    this.#answers.restart()
  }

  /** Called at each check that finds the loop resting. */
  rested(nowMs: number): void {
    this.areUsual = false
    if (this.#answers.all >= this.#tuning.samples) this.#keep(this.#answers, nowMs)
  }

  /** Called when a trial has shown that requests do not wait for each other. Fewer than SHOW answers are not used. */
  learn(answers: Answers, nowMs: number): void {
    if (answers.all < SHOW) return
    this.areUsual = true
    this.#keep(answers, nowMs)
  }

  #keep({ heavyMs, meanMs }: Answers, nowMs: number): void {
    this.#heavyMs = heavyMs
    this.#meanMs = meanMs
    this.begin(nowMs)
  }

  /** While the loop is busy: true if requests take about as long as usual. */
  compare(nowMs: number, inService: number): boolean {
    if (this.#heavyMs === 0) return false
    const overMs = nowMs - this.#since
    if (this.areUsual && overMs < this.#tuning.busyForMs) return true
    const { all, heavyMs } = this.#answers
    if (all >= SHOW) {
      this.areUsual = heavyMs <= this.#longest(this.#heavyMs) && !this.#isMeanLonger()
      this.begin(nowMs)
      // Several requests are in service, and the longest usual time passed with fewer than four answers.
    } else if (inService >= SHOW && overMs > this.#longest(this.#heavyMs)) this.areUsual = false
    return this.areUsual
  }

  /** With few answers, the mean of quick and slow requests depends on chance. */
  #isMeanLonger(): boolean {
    return this.#answers.all >= this.#tuning.samples && this.#answers.meanMs > this.#longest(this.#meanMs)
  }

  /** The longest usual time, ms. Half of `promiseMs` caps it, so that requests waiting for each other end in time. */
  #longest(usualMs: number): number {
    const { loopWorkMs, promiseMs } = this.#tuning
    return Math.min(LONGER * usualMs, Math.max(usualMs, promiseMs / 2)) + loopWorkMs
  }
}
