/**
 * Detects whether far fewer requests leave than could, while others wait: then requests that wait for something else
 * may hold the permits. A trial admits a few more requests to show whether they do. If the new requests leave, the old
 * ones do not delay others and are not counted. If the new ones do not leave either, the dependency has become slower,
 * or has stopped. Pure.
 */
import { type Answered, Answers } from './answers.ts'
import type { CountedRequests } from './counted-requests.ts'

export interface StarvationTuning {
  /** Requests are starved if fewer than this share of the usual number leave. */
  readonly starved: number
  /** Minimum number of usual departures in the judged time. */
  readonly starvedOf: number
  /** Minimum judged time, ms. */
  readonly leastWindowMs: number
  /** While no request leaves, a trial has the size of the limit divided by this; otherwise it is half of the limit. */
  readonly quietTrial: number
}

/** The number that may be uncounted shrinks to this multiple of the older requests, or to the limit if that is more. */
const HEADROOM = 1.5
/** Longest time between two judgements, ms, even if few requests usually leave. */
const LONGEST_WINDOW_MS = 5000
/**
 * Failed trials are followed by pauses of 1, 2, 4 and 8 times the window in which a request counts. When a pause
 * exceeds this number of windows, the usual rate is lowered to the present one, but at most by half.
 */
const LONGEST_PAUSE_WINDOWS = 4

export class Starvation {
  readonly #tuning: StarvationTuning
  readonly #requests: CountedRequests
  readonly #answers: Answers
  #since = 0
  #left = 0
  #pace = 0

  #trial = 0
  #leftBefore = 0
  #allowedBefore = 0
  #pauseMs = 0
  #pausedUntil = 0

  constructor(tuning: StarvationTuning, requests: CountedRequests, answered: Answered) {
    this.#answers = new Answers(answered)
    this.#tuning = tuning
    this.#requests = requests
  }

  begin(nowMs: number): void {
    this.#answers.restart()
    this.#since = nowMs
  }

  /** `rate`: usual answers per ms. `spanMs`: expected duration of a request. Undefined if it is too early to tell. */
  judge(nowMs: number, waits: boolean, rate: number, spanMs: number): 'starved' | 'fed' | undefined {
    const { leastWindowMs, starved, starvedOf } = this.#tuning
    const elapsedMs = nowMs - this.#since
    if (elapsedMs < Math.max(leastWindowMs, 2 * spanMs)) return undefined
    if (elapsedMs * rate < starvedOf && elapsedMs < LONGEST_WINDOW_MS) return undefined
    const { all, count } = this.#answers
    this.#left = all
    this.#pace = count / elapsedMs
    this.begin(nowMs)
    return waits && this.#pace < starved * rate ? 'starved' : 'fed'
  }

  /** `drains`: whether requests from before the limit may still be in service. */
  fed(limit: number, drains: boolean): void {
    const requests = this.#requests
    this.#trial = 0
    this.#pauseMs = 0
    if (!drains) requests.allowed = Math.max(limit, Math.min(requests.allowed, Math.floor(HEADROOM * requests.older)))
  }

  /** `excess`: counted requests above the limit. Returns the rate that counts as usual from now on, answers per ms. */
  starved(nowMs: number, rate: number, limit: number, excess: number): number {
    const trial = this.#trial
    this.#trial = 0
    let usual = rate
    if (trial > 0 && this.#left >= this.#leftBefore + trial / 2) this.#pauseMs = 0
    else if (trial > 0) usual = this.#failed(nowMs, rate)
    if (nowMs >= this.#pausedUntil) this.#try(limit, excess)
    return usual
  }

  #failed(nowMs: number, rate: number): number {
    const requests = this.#requests
    requests.allowed = this.#allowedBefore
    this.#pauseMs = Math.max(2 * this.#pauseMs, requests.windowMs)
    this.#pausedUntil = nowMs + this.#pauseMs
    if (this.#pauseMs <= LONGEST_PAUSE_WINDOWS * requests.windowMs) return rate
    this.#pauseMs = 0
    return Math.max(this.#pace, rate / 2)
  }

  #try(limit: number, excess: number): void {
    const requests = this.#requests
    const { quietTrial } = this.#tuning
    this.#leftBefore = this.#left
    this.#allowedBefore = requests.allowed
    this.#trial = Math.max(1, Math.ceil(Math.max(limit, requests.allowed) / (this.#left === 0 ? quietTrial : 2)))
    requests.allowed = Math.min(requests.older, requests.allowed + excess) + this.#trial
  }
}
