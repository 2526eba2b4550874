/**
 * Requests that take far longer than others of their kind: they wait for something that the others do without, a lock, a
 * cold cache, a dependency that hangs. A limit that counts them keeps the others out: one request in ten that takes ten
 * seconds holds a hundred permits for every hundred requests a second. So while somebody waits for a permit, stragglers go
 * on without one. Pure.
 *
 * Long is relative (service-times.ts): where all of a kind have become slow, or nobody is answered, nobody straggles; nor
 * where the slow ones hold what the quick ones need too. What this can not tell: that the slow ones of one kind stand in
 * each other's way only.
 */
import type { ServiceTimes, Serving } from './service-times.ts'

export interface StragglerTuning {
  /** Nobody straggles before, ms: shorter requests need few permits. */
  readonly straggleMs: number
  /**
   * So many times the usual time. Lower than 2, exponential service times would do; higher, one slow request in ten makes
   * the usual time too long itself.
   */
  readonly overtakenBy: number
  /** Only while the loop is busy for less than this share of the time: else a request may take long because it works. */
  readonly restsBelow: number
  /** No more than so many at once go on without a permit: each holds memory, and something behind us. */
  readonly mostStragglers: number
}

export const STRAGGLER_TUNING: StragglerTuning = {
  straggleMs: 300,
  overtakenBy: 2,
  restsBelow: 0.9,
  mostStragglers: 500,
}

/** Whether the loop rests is judged over no less and no more, ms: a moment is chance, and before it nobody waited. */
const JUDGED_MS = [20, 100] as const

export class Stragglers<S extends Serving> {
  readonly #times: ServiceTimes<S>
  readonly #tuning: StragglerTuning
  /** Those who go on without a permit. */
  readonly #going = new Set<S>()
  #judgedAt = 0
  #busyThen = 0
  #startedBefore = 0

  constructor(times: ServiceTimes<S>, tuning: StragglerTuning = STRAGGLER_TUNING) {
    this.#times = times
    this.#tuning = tuning
  }

  /** Begins a look at those in service. False: there is nothing to see. `busyMs`: what the loop has been busy for, ever. */
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

  /** Whether a request in service straggles, at the time of the last look. */
  has(request: S): boolean {
    return request.servingSince <= this.#startedBefore && this.#times.overtaken(request, this.#tuning.overtakenBy)
  }

  /** It has not been in service for long enough, nor have those that came after it. */
  tooShort({ startedAt }: S): boolean {
    return startedAt > this.#startedBefore
  }

  /** As many go on without a permit as may. */
  get full(): boolean {
    return this.count >= this.#tuning.mostStragglers
  }

  /** A request in service goes on without its permit, until {@link ended}. */
  goesOn(request: S): void {
    this.#times.gone(request)
    this.#going.add(request)
  }

  /** It goes on without a permit. */
  goes(request: S): boolean {
    return this.#going.has(request)
  }

  get count(): number {
    return this.#going.size
  }

  get going(): Iterable<S> {
    return this.#going
  }

  /** It is over. False where it did not go on; then nothing changes. */
  ended(request: S): boolean {
    return this.#going.size > 0 && this.#going.delete(request)
  }
}
