/**
 * Requests whose answer nobody waits for any more, while their handlers work on: the client has left, or was told that
 * the deadline has passed. Each keeps its permit, or a dependency that hangs would fill up with the work of clients that
 * have lost patience. The permit comes back when the handler ends; where Node does not tell, when it is presumed over:
 *
 * - once others of its kind have been answered since it came, and it has taken twice as long as they do;
 * - one by one after a half, 1, 2, 4, ... seconds in which no handler ended, for nobody of its kind might ever be answered.
 *
 * That may be wrong, so each is doubted for a while, and no more are doubted at once than there are permits: at most twice
 * as many handlers work as there are permits. Doubt lasts as long as the request is known to be at work; longer where one
 * that was presumed over is seen to end after all, and less long where nothing is heard of one. Pure.
 */
import { KINDS_IN_SERVICE, type ServiceTimes, type Serving } from './service-times.ts'

/** So many times as long as its like is long. */
const TIMES = 2
/** After so long without a sign the oldest gives its permit back, ms; then after twice as long, and so on. */
const FIRST_PROBE_MS = 500
const MOST_PROBE_MS = 60_000
/** Nobody keeps a permit, or is doubted, for longer than this after it was abandoned, ms. */
const LONGEST_MS = 300_000
/** For how long one that is presumed over is doubted where nothing is known of its kind, and at least, ms. */
const FIRST_DOUBT_MS = 1000
const LEAST_DOUBT_MS = 10
/** And at least where it had taken far longer than its like when it was abandoned, ms. */
const STRAGGLER_DOUBT_MS = 10_000

interface Work {
  readonly sinceMs: number
  readonly straggles: boolean
  readonly isAtWork: () => boolean
}

export class Abandoned<S extends Serving> {
  readonly #times: ServiceTimes<S>
  /** Those with a permit, in the order in which they were abandoned. */
  readonly #working = new Map<S, Work>()
  /** Those presumed over, in that order, while they are doubted. */
  readonly #doubted = new Map<S, Work>()
  /** By kind. */
  readonly #doubtMs = new Float64Array(KINDS_IN_SERVICE).fill(FIRST_DOUBT_MS)
  #probeMs = FIRST_PROBE_MS
  #probeAt = 0

  constructor(times: ServiceTimes<S>) {
    this.#times = times
  }

  /** How many handlers work on and hold a permit. */
  get count(): number {
    return this.#working.size
  }

  /** `isAtWork`: whether it is known to be; it is doubted for as long. */
  add(request: S, nowMs: number, isAtWork: () => boolean = () => false): void {
    if (this.#working.size === 0) {
      this.#probeMs = FIRST_PROBE_MS
      this.#probeAt = nowMs + FIRST_PROBE_MS
    }
    const straggles = this.#times.straggles(request, nowMs, TIMES)
    this.#working.set(request, { sinceMs: nowMs, straggles, isAtWork })
  }

  /** The handler of one that was abandoned has ended, be it after it was presumed over. */
  ended(request: S, nowMs: number): void {
    if (this.#working.delete(request)) {
      this.#probeAt = nowMs + this.#probeMs
      return
    }
    this.#doubted.delete(request)
    const { kindNoted: kind, startedAt } = request
    this.#doubtMs[kind] = Math.min(LONGEST_MS, Math.max(this.#doubtMs[kind]!, 2 * (nowMs - startedAt)))
  }

  /** Takes out those that are to give their permits back, of so many, though nobody has said that they ended. */
  takePresumedOver(nowMs: number, permits: number): S[] {
    this.#believe(nowMs)
    const over: S[] = []
    for (const [request, work] of this.#working) {
      const mayGo = this.#doubted.size < permits && this.#times.outlasts(request, nowMs, TIMES)
      if (mayGo || nowMs - work.sinceMs >= LONGEST_MS) over.push(this.#presumeOver(request, work))
    }
    if (over.length > 0) this.#probeAt = nowMs + this.#probeMs
    else if (this.#working.size > 0 && nowMs >= this.#probeAt && this.#doubted.size < permits) {
      const [request, work] = this.#working.entries().next().value!
      over.push(this.#presumeOver(request, work))
      this.#probeMs = Math.min(2 * this.#probeMs, MOST_PROBE_MS)
      this.#probeAt = nowMs + this.#probeMs
    }
    return over
  }

  #presumeOver(request: S, work: Work): S {
    this.#working.delete(request)
    this.#doubted.set(request, work)
    return request
  }

  /** Those of whom nothing was heard for so long are over, and so are others of their kind, sooner. */
  #believe(nowMs: number): void {
    for (const [request, { sinceMs, straggles, isAtWork }] of this.#doubted) {
      const kind = request.kindNoted
      const forMs = nowMs - sinceMs
      const doubtMs = Math.max(this.#doubtMs[kind]!, straggles ? STRAGGLER_DOUBT_MS : 0)
      if (forMs < LONGEST_MS && (forMs < doubtMs || isAtWork())) continue
      this.#doubted.delete(request)
      this.#doubtMs[kind] = Math.max(LEAST_DOUBT_MS, this.#doubtMs[kind]! / 2)
    }
  }
}
