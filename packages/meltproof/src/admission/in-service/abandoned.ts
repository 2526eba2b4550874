/**
 * Requests whose client left or got a 504 while their handlers still work. Each keeps its permit; otherwise a hung
 * dependency would fill up with abandoned work. The permit is freed when the handler ends. Node does not always show
 * that end. So a request is treated as finished when it has taken twice its kind's mean time, and others of its kind
 * were answered since it arrived. Otherwise the oldest one is treated as finished after 0.5, 1, 2, 4, ... seconds in
 * which no handler ended.
 *
 * That guess may be wrong, so each such request counts as doubted for a while. No more requests are doubted than there
 * are permits, so at most twice as many handlers work. A request whose handler is known to work stays doubted; for the
 * others the time depends on how often the guess was wrong for their kind. Pure.
 */
import { KINDS_IN_SERVICE, type ServiceTimes, type Serving } from './service-times.ts'

/** A request is treated as finished after this multiple of its kind's mean service time. */
const TIMES = 2
/** If no handler ends for this time, ms, the oldest request gives its permit back. Doubles up to MOST_PROBE_MS. */
const FIRST_PROBE_MS = 500
const MOST_PROBE_MS = 60_000
/** The longest time for which a request keeps its permit or is doubted after it was abandoned, ms. */
const LONGEST_MS = 300_000
/** How long a request of an unknown kind is doubted, and the minimum for any kind, ms. */
const FIRST_DOUBT_MS = 1000
const LEAST_DOUBT_MS = 10
/** A request abandoned without a permit, or far slower than its kind, is doubted for at least this time, ms. */
const STRAGGLER_DOUBT_MS = 10_000

/** Information about a handler whose client has left. */
export interface Outlook {
  /** Returns true if the handler is known to work: then its request stays doubted. */
  readonly isAtWork?: (() => boolean) | undefined
  /**
   * True if the handler pipes to its client, or reads from it. Without a client such handlers often end unseen, so the
   * permit is freed as soon as one more request may be doubted.
   */
  readonly servedClient?: boolean
}

interface Work extends Outlook {
  readonly sinceMs: number
  readonly straggles: boolean
}

export class Abandoned<S extends Serving> {
  readonly #times: Pick<ServiceTimes<Serving>, 'straggles' | 'outlasts'>
  readonly #working = new Map<S, Work>()
  readonly #doubted = new Map<S, Work>()
  readonly #doubtMs = new Float64Array(KINDS_IN_SERVICE).fill(FIRST_DOUBT_MS)
  #probeMs = FIRST_PROBE_MS
  #probeAt = 0

  constructor(times: Pick<ServiceTimes<Serving>, 'straggles' | 'outlasts'>) {
    this.#times = times
  }

  get count(): number {
    return this.#working.size
  }

  get doubted(): number {
    return this.#doubted.size
  }

  add(request: S, nowMs: number, outlook?: Outlook): void {
    if (this.#working.size === 0) {
      this.#probeMs = FIRST_PROBE_MS
      this.#probeAt = nowMs + FIRST_PROBE_MS
    }
    const straggles = this.#times.straggles(request, nowMs, TIMES)
    this.#working.set(request, { ...outlook, sinceMs: nowMs, straggles })
  }

  /** Adds a request that worked without a permit when its client left: it is doubted from now on. */
  addWithoutPermit(request: S, nowMs: number, outlook?: Outlook): void {
    this.#doubted.set(request, { ...outlook, sinceMs: nowMs, straggles: true })
  }

  /** Called when the handler has ended. Returns whether the request still had its permit. */
  ended(request: S, nowMs: number): boolean {
    if (this.#working.delete(request)) {
      this.#probeAt = nowMs + this.#probeMs
      return true
    }
    this.#doubted.delete(request)
    const { serviceBucket: kind, startedAt } = request
    this.#doubtMs[kind] = Math.min(LONGEST_MS, Math.max(this.#doubtMs[kind]!, 2 * (nowMs - startedAt)))
    return false
  }

  /** Called when the handler has ended at some unknown time. Returns whether the request still had its permit. */
  collected(request: S): boolean {
    if (this.#doubted.delete(request)) this.#trust(request.serviceBucket)
    return this.#working.delete(request)
  }

  /** Returns the requests now treated as finished: the caller frees their permits. At most `permits` are doubted. */
  takeTreatedAsFinished(nowMs: number, permits: number): S[] {
    this.#acceptEnds(nowMs)
    const over: S[] = []
    for (const [request, work] of this.#working) {
      const isOver = work.servedClient === true || this.#times.outlasts(request, nowMs, TIMES)
      if ((isOver && this.#doubted.size < permits) || nowMs - work.sinceMs >= LONGEST_MS)
        over.push(this.#treatAsFinished(request, work))
    }
    if (over.length > 0) this.#probeAt = nowMs + this.#probeMs
    else if (this.#working.size > 0 && nowMs >= this.#probeAt && this.#doubted.size < permits) {
      const [request, work] = this.#working.entries().next().value!
      over.push(this.#treatAsFinished(request, work))
      this.#probeMs = Math.min(2 * this.#probeMs, MOST_PROBE_MS)
      this.#probeAt = nowMs + this.#probeMs
    }
    return over
  }

  #treatAsFinished(request: S, work: Work): S {
    this.#working.delete(request)
    this.#doubted.set(request, work)
    return request
  }

  /** Treats requests that were doubted long enough as ended, and doubts their kind for a shorter time from then on. */
  #acceptEnds(nowMs: number): void {
    for (const [request, { sinceMs, straggles, isAtWork }] of this.#doubted) {
      const kind = request.serviceBucket
      const forMs = nowMs - sinceMs
      const doubtMs = Math.max(this.#doubtMs[kind]!, straggles ? STRAGGLER_DOUBT_MS : 0)
      if (forMs < LONGEST_MS && (forMs < doubtMs || isAtWork?.())) continue
      this.#doubted.delete(request)
      this.#trust(kind)
    }
  }

  #trust(kind: number): void {
    this.#doubtMs[kind] = Math.max(LEAST_DOUBT_MS, this.#doubtMs[kind]! / 2)
  }
}
