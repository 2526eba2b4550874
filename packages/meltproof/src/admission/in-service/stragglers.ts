/**
 * Stragglers take far longer than others of their kind: they wait for a lock, a cold cache or a hung dependency. If the
 * limit counts them they keep others out: at 100 requests/s, one in ten that takes 10 s holds a hundred permits. So
 * while requests wait for a permit, stragglers go on without one. Pure.
 *
 * The measure is relative (service-times.ts): when a whole kind is slow or none is answered, none straggles; nor when
 * slow requests hold what quick ones need. It cannot see slow requests that hold up only each other.
 */
import type { ServiceTimes, Serving } from './service-times.ts'

export interface StragglerTuning {
  /** Shorter requests never straggle, ms: they need few permits. */
  readonly straggleMs: number
  /** Multiple of the usual time. Lower catches exponential times by chance; higher misses one slow request in ten. */
  readonly overtakenBy: number
  /** Only while the loop is busy for less than this share: otherwise a request may be slow because it computes. */
  readonly restsBelow: number
  /** Stragglers that may go on at once: each holds memory and something behind us. */
  readonly mostStragglers: number
}

export const STRAGGLER_TUNING: StragglerTuning = {
  straggleMs: 300,
  overtakenBy: 2,
  restsBelow: 0.9,
  mostStragglers: 500,
}

/** The loop's rest is judged over this range, ms: less is chance, more contains time without a queue. */
const JUDGED_MS = [20, 100] as const

export class Stragglers<S extends Serving> {
  readonly #times: ServiceTimes<S>
  readonly #tuning: StragglerTuning
  readonly #going = new Set<S>()
  #judgedAt = 0
  #busyThen = 0
  #startedBefore = 0

  constructor(times: ServiceTimes<S>, tuning: StragglerTuning = STRAGGLER_TUNING) {
    this.#times = times
    this.#tuning = tuning
  }

  /** False when none can go on. `busyMs`: the loop's busy time, cumulative. */
  look(nowMs: number, busyMs: number): boolean {
    const sinceMs = nowMs - this.#judgedAt
    const [least, most] = JUDGED_MS
    if (sinceMs < least) return false
    const rests = sinceMs <= most && busyMs - this.#busyThen < this.#tuning.restsBelow * sinceMs
    this.#busyThen = busyMs
    this.#judgedAt = nowMs
    this.#startedBefore = nowMs - this.#tuning.straggleMs
    return rests && !this.full
  }

  has(request: S): boolean {
    return request.servingSince <= this.#startedBefore && this.#times.overtaken(request, this.#tuning.overtakenBy)
  }

  tooShort({ startedAt }: S): boolean {
    return startedAt > this.#startedBefore
  }

  get full(): boolean {
    return this.count >= this.#tuning.mostStragglers
  }

  goesOn(request: S): void {
    this.#times.gone(request)
    this.#going.add(request)
  }

  goes(request: S): boolean {
    return this.#going.has(request)
  }

  get count(): number {
    return this.#going.size
  }

  get going(): Iterable<S> {
    return this.#going
  }

  /** False when it held a permit; then nothing changes. */
  ended(request: S): boolean {
    return this.#going.size > 0 && this.#going.delete(request)
  }
}
