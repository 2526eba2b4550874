/**
 * Tries four times the limit of the loop when fewer requests leave than under a higher limit. By Little's law four times as
 * many leave if they wait for something else, and as many as before if they wait for each other. Pure.
 */
import { Answers } from './answers.ts'

/** A trial admits this many times the limit. */
export const TRIAL = 4
/** Answers that show how many leave. */
const SHOW = 4
/** With fewer, it is measured for this many service times. */
const SERVICES = 3
/** Fewer leave when it is less than this share of what once left. */
const FELL = 0.5
/** Requests wait for each other if they take this many times as long. */
const LONGER = 2

export class LoopTrial {
  readonly #pauseMs: number
  /** Answers under the present limit, since those admitted under another one have left. */
  readonly #answers = new Answers()
  #from = 0
  #settlesAt = 0
  /** The limit before the trial; 0 without one. Under it `rate` left per ms, and took `heavyMs`. */
  #limit = 0
  #rate = 0
  #heavyMs = 0
  #againAt = 0
  #failed = 0
  /** Answers since the loop has a limit. */
  readonly #since = new Answers()
  #limitedAt: number | undefined
  /** The most of them per ms, up to any change of the limit. */
  #best = 0

  /** `pauseMs`: between trials that fail; twice as long after each. */
  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs
  }

  get isOn(): boolean {
    return this.#limit > 0
  }

  get answers(): Answers {
    return this.#answers
  }

  answered(serviceMs: number): void {
    this.#answers.add(serviceMs)
    this.#since.add(serviceMs)
  }

  /** The limit has changed. `serviceMs`: what those admitted before may still take. */
  begin(nowMs: number, serviceMs: number): void {
    if (this.#limitedAt === undefined) {
      this.#limitedAt = nowMs
      this.#since.clear()
    }
    const { count, heavyMs } = this.#since
    const elapsedMs = nowMs - this.#limitedAt
    // Requests that share the loop leave together: less than a service time shows too many.
    if (count > 0 && elapsedMs >= heavyMs) this.#best = Math.max(this.#best, count / elapsedMs)
    this.#from = 0
    this.#settlesAt = nowMs + serviceMs
  }

  forget(): void {
    this.#limitedAt = undefined
    this.#best = 0
    this.end()
  }

  /** Call it while requests wait under the lowest limit. Returns whether a trial starts. */
  starts(nowMs: number, limit: number): boolean {
    if (nowMs < this.#againAt) return false
    const rate = this.#measured(nowMs)
    if (rate === undefined || rate > FELL * this.#best) return false
    this.#limit = limit
    this.#rate = rate
    this.#heavyMs = this.#answers.heavyMs
    return true
  }

  /** Whether more leave than before the trial; undefined: too early to tell. `counted`: requests in service. */
  judge(nowMs: number, counted: number, waits: boolean): boolean | undefined {
    const rate = this.#measured(nowMs)
    if (rate === undefined) return undefined
    // The geometric mean is as far from staying as from rising as far as those in service did.
    const rises = rate >= this.#rate * Math.sqrt(Math.max(2, counted / this.#limit))
    const more = this.#answers.heavyMs <= LONGER * this.#heavyMs && (rises || (!waits && counted < 2 * this.#limit))
    // After a trial that showed more, still more may leave.
    this.#best = more ? Number.POSITIVE_INFINITY : Math.max(rate, this.#rate)
    this.#failed = more ? 0 : this.#failed + 1
    this.#againAt = more ? nowMs : nowMs + this.#pauseMs * 2 ** (this.#failed - 1)
    return more
  }

  /** Returns the limit before the trial. */
  end(): number {
    const limit = this.#limit
    this.#limit = 0
    this.#heavyMs = 0
    return limit
  }

  /** Answers per ms; undefined before enough are known. */
  #measured(nowMs: number): number | undefined {
    if (this.#from === 0) {
      if (nowMs < this.#settlesAt) return undefined
      this.#from = nowMs
      this.#answers.clear()
    }
    const { all, count, heavyMs } = this.#answers
    const elapsedMs = nowMs - this.#from
    // Requests that started together leave together, and slow ones last.
    const serviceMs = Math.max(heavyMs, this.#heavyMs)
    if (all === 0 || elapsedMs < (all < SHOW ? SERVICES : 1) * serviceMs) return undefined
    return count / elapsedMs
  }
}
