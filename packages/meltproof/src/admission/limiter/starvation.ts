/**
 * Detects whether far fewer requests leave than could, while others wait: then requests that wait for something else
 * may hold the permits. A trial shows whether they do: a few more are admitted. If these leave, the old ones do not
 * delay others and are not counted. If they do not leave either, the dependency has become slower, or has stopped.
 * Pure.
 */
import { Answers } from './answers.ts'
import type { CountedRequests } from './counted-requests.ts'

export interface StarvationTuning {
  /** Fewer than this share of the usual number leave. */
  readonly starved: number
  /** Minimum number of usual departures in the judged time. */
  readonly starvedOf: number
  /** Minimum judged time, ms. */
  readonly leastWindowMs: number
  /** Size of a trial while no request leaves: this fraction of the limit; otherwise half of it. */
  readonly quietTrial: number
}

/** Requests that are not counted may exceed the older ones by this factor. */
const HEADROOM = 1.5
/** However few leave usually, it is judged after this time, ms. */
const LONGEST_WINDOW_MS = 5000
/** After a failed trial the next one waits for 1, 2, 4, 8 windows of a request. Then what leaves now counts as usual. */
const LONGEST_PAUSE_WINDOWS = 4

export class Starvation {
  readonly #tuning: StarvationTuning
  readonly #requests: CountedRequests
  readonly #answers = new Answers()
  #since = 0
  #left = 0
  #pace = 0

  #trial = 0
  #leftBefore = 0
  #allowedBefore = 0
  #pauseMs = 0
  #pausedUntil = 0

  constructor(tuning: StarvationTuning, requests: CountedRequests) {
    this.#tuning = tuning
    this.#requests = requests
  }

  begin(nowMs: number): void {
    this.#answers.clear()
    this.#since = nowMs
  }

  answered(serviceMs: number): void {
    this.#answers.add(serviceMs)
  }

  /** `rate`: answers per ms that are usual. `spanMs`: what a request should take. Undefined: too early to tell. */
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

  /** `drains`: more are in service than the limit, from before it was set. */
  fed(limit: number, drains: boolean): void {
    const requests = this.#requests
    this.#trial = 0
    this.#pauseMs = 0
    if (!drains) requests.allowed = Math.max(limit, Math.min(requests.allowed, Math.floor(HEADROOM * requests.older)))
  }

  /** `excess`: counted above the limit. Returns what counts as usual from now on, in answers per ms. */
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
