/**
 * Tries a limit four times as high as the loop's when throughput is at most half of its earlier maximum. By Little's
 * law throughput rises fourfold if requests wait for something else, but not if they wait for each other. Pure.
 */
import { type Answered, Answers } from './answers.ts'

/** A trial admits this many times the limit. */
export const TRIAL = 4
/** Throughput is measured over this many service times: requests that started together leave together. */
const MIN_SERVICE_TIMES = 3
/** Throughput is measured for at least this time, ms. In less, a mix of quick and slow requests varies by chance. */
const MIN_MS = 500
/** A trial needs a throughput of at most this share of the earlier maximum. */
const MAX_REMAINING_SHARE = 0.5
/** Requests that in a trial take more than this many times as long as before wait for each other. */
const MAX_SLOWDOWN = 2
/** The pause between failed trials doubles at most this many times. */
const MOST_DOUBLINGS = 2

export class LoopTrial {
  readonly #pauseMs: number
  /** Answers under the present limit. Counting starts when the requests admitted under the previous limit have left. */
  readonly answers: Answers
  #measuredFrom = 0
  #settlesAt = 0
  /** The limit before the trial (0 without a trial), its throughput, and the time of its slow requests, ms. */
  #limit = 0
  #rate = 0
  #heavyMs = 0
  #nextTrialAt = 0
  #failures = 0
  /** Answers since the loop got a limit, or since the last failed trial. */
  readonly #sinceLimited: Answers
  #limitedAt: number | undefined
  /** Maximum throughput of these answers, updated at each change of the limit. */
  #best = 0

  /** `pauseMs`: the pause after a failed trial; it doubles with each further failure. */
  constructor(pauseMs: number, answered: Answered) {
    this.answers = new Answers(answered)
    this.#sinceLimited = new Answers(answered)
    this.#pauseMs = pauseMs
  }

  get isOn(): boolean {
    return this.#limit > 0
  }

  /** Called when the limit has changed. `serviceMs`: how long the requests admitted before may still take. */
  begin(nowMs: number, serviceMs: number): void {
    if (this.#limitedAt === undefined) this.#limited(nowMs)
    const { count, heavyMs } = this.#sinceLimited
    const elapsedMs = nowMs - this.#limitedAt!
    // Requests that share the loop leave together, so less than one service time would show too high a throughput.
    if (count > 0 && elapsedMs >= heavyMs) this.#best = Math.max(this.#best, count / elapsedMs)
    this.restart()
    this.#settlesAt = nowMs + serviceMs
  }

  forget(): void {
    this.#limitedAt = undefined
    this.#best = 0
    this.#failures = 0
    this.end()
  }

  /** Starts the measurement over, because demand or the limit has changed. */
  restart(): void {
    this.#measuredFrom = 0
  }

  /** Call it while requests wait and the limit cannot be lowered further. Returns whether a trial starts. */
  starts(nowMs: number, limit: number): boolean {
    if (nowMs < this.#nextTrialAt) return false
    const rate = this.#measured(nowMs)
    if (rate === undefined) return false
    if (rate > MAX_REMAINING_SHARE * this.#best) {
      this.restart()
      return false
    }
    this.#limit = limit
    this.#rate = rate
    this.#heavyMs = this.answers.heavyMs
    return true
  }

  /** True if the trial succeeds; undefined if it is too early. `counted`: number in service that the limit counts. */
  judge(nowMs: number, counted: number, waits: boolean): boolean | undefined {
    const rate = this.#measured(nowMs)
    if (rate === undefined) return undefined
    // The threshold is the geometric mean of unchanged throughput and throughput that grew with concurrency.
    const rises = rate >= this.#rate * Math.sqrt(Math.max(2, counted / this.#limit))
    const isUnused = !waits && counted < 2 * this.#limit
    const succeeds = this.answers.heavyMs <= MAX_SLOWDOWN * this.#heavyMs && (rises || isUnused)
    if (succeeds) {
      // Throughput may rise further, so the next trial needs no drop in throughput.
      this.#best = Number.POSITIVE_INFINITY
      this.#failures = 0
    } else {
      this.#limited(nowMs)
      this.#best = Math.max(rate, this.#rate)
      this.#nextTrialAt = nowMs + this.#pauseMs * 2 ** Math.min(this.#failures++, MOST_DOUBLINGS)
    }
    return succeeds
  }

  /** Returns the limit before the trial. */
  end(): number {
    const limit = this.#limit
    this.#limit = 0
    this.#heavyMs = 0
    this.restart()
    return limit
  }

  #limited(nowMs: number): void {
    this.#limitedAt = nowMs
    this.#sinceLimited.restart()
  }

  /** Answers per ms; undefined before enough are known. */
  #measured(nowMs: number): number | undefined {
    if (this.#measuredFrom === 0) {
      if (nowMs < this.#settlesAt) return undefined
      this.#measuredFrom = nowMs
      this.answers.restart()
    }
    const { all, count, heavyMs } = this.answers
    const elapsedMs = nowMs - this.#measuredFrom
    // Quick answers say nothing about slow requests that have not ended.
    const leastMs = Math.max(MIN_MS, MIN_SERVICE_TIMES * Math.max(heavyMs, this.#heavyMs))
    const isEnough = all > 0 && elapsedMs >= leastMs
    return isEnough ? count / elapsedMs : undefined
  }
}
