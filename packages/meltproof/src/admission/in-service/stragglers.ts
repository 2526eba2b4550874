/**
 * Who takes far longer than others of their kind: they wait for something that the others do without, a lock, a cold
 * cache, a dependency that hangs. A limit that counts them keeps the others out: one request in ten that takes ten
 * seconds holds a hundred permits for every hundred requests a second. So while somebody waits for a permit, those who
 * outstay go on without one. Pure.
 *
 * Long is relative: a request outstays when several times as many of its kind have been answered since it came as are in
 * service. By Little's limiter that is several times their usual stay, whatever that is at the time. Where all of them have
 * become slow, or nobody is answered at all, nobody outstays; nor where the slow ones hold what the quick ones need too.
 * Of its kind, because kinds are dealt with by fair-shares.ts: a route that is slow as a whole, at a pool of its own, is
 * what the limit is about. What this can not tell: that the slow ones of one kind stand in each other's way only.
 */
import type { Stay, Stays } from './service-times.ts'

export interface StragglerTuning {
  /** Nobody outstays before, ms: shorter stays need few permits. */
  readonly straggleMs: number
  /**
   * So many times the usual stay. Where more than one request in so many takes long, long is usual, and the limit is
   * about them. Lower than 2, exponential service times would do; higher, one slow request in ten makes the usual stay
   * too long itself.
   */
  readonly overtakenBy: number
  /**
   * Only while the loop is busy for less than this share of the time. Where it never rests, a request may take long
   * because it works, and would make room for more of its kind; and there is no time for anybody else.
   */
  readonly restsBelow: number
  /** No more than so many at once go on without a permit: each holds memory, and something behind us. */
  readonly mostStragglers: number
}

/** Whether the loop rests is judged over no less and no more, ms: a moment is chance, and before it nobody waited. */
const JUDGED_MS = [20, 100] as const

export const STRAGGLER_TUNING: StragglerTuning = {
  straggleMs: 300,
  overtakenBy: 2,
  restsBelow: 0.9,
  mostStragglers: 500,
}

export class Stragglers<S extends Stay> {
  readonly #stays: Stays<S>
  readonly #tuning: StragglerTuning
  /** Those who go on without a permit. */
  readonly #going = new Set<S>()
  #judgedAt = 0
  #busyThen = 0
  #startedBefore = 0

  constructor(stays: Stays<S>, tuning: StragglerTuning = STRAGGLER_TUNING) {
    this.#stays = stays
    this.#tuning = tuning
  }

  /**
   * Begins a look at those in service, which is for nothing when it returns false. `busyMs`: what the loop has been
   * busy for, ever.
   */
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

  /** Whether a request in service outstays, at the time of the last look. */
  has(stay: S): boolean {
    return stay.staysSince <= this.#startedBefore && this.#stays.overtaken(stay, this.#tuning.overtakenBy)
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
  goesOn(stay: S): void {
    this.#stays.gone(stay)
    this.#going.add(stay)
  }

  /** It goes on without a permit. */
  goes(stay: S): boolean {
    return this.#going.has(stay)
  }

  /** How many go on without a permit. */
  get count(): number {
    return this.#going.size
  }

  /** Those who go on. */
  get going(): Iterable<S> {
    return this.#going
  }

  /** It is over. False where it did not go on; then nothing changes. */
  ended(stay: S): boolean {
    return this.#going.size > 0 && this.#going.delete(stay)
  }
}
