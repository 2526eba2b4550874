/** Counts requests in service and answers of each kind, and measures the current service time of the kind. Pure. */

export const KINDS_IN_SERVICE = 256

export interface Serving {
  startedAt: number
  /** When the counted time began: at the start, or after a wait for the client ({@link ServiceTimes.resumed}). */
  servingSince: number
  serviceBucket: number
  answeredThen: number
}

/** Weights of a new service time, as TCP estimates its round trips (Jacobson, SIGCOMM 1988; RFC 6298). */
const MEAN_WEIGHT = 1 / 8
const DEVIATION_WEIGHT = 1 / 4
const DEVIATIONS = 2
/** A kind is quick if at most this share of its last 100 or so answers was slow. Quick work may exceed the limit. */
const MOST_SLOW = 0.015
/** An answer that took longer than this is slow, ms. */
const SLOW_MS = 50
/** From this time to SLOW_MS, ms, an answer counts as SOMEWHAT_SLOW of a slow one: the machine may have been busy. */
const QUICK_MS = 10
const SOMEWHAT_SLOW = 0.3
/** A kind needs this many answers to count as quick. With this many of its requests in service it no longer does. */
const QUICK_OF = 16
const SLOW_WEIGHT = 1 / 64

export class ServiceTimes<S extends Serving> {
  // Figures by kind; times in ms, 0 before the first.
  readonly #answered = new Float64Array(KINDS_IN_SERVICE)
  readonly #inService = new Int32Array(KINDS_IN_SERVICE)
  readonly #meanMs = new Float64Array(KINDS_IN_SERVICE)
  readonly #deviationMs = new Float64Array(KINDS_IN_SERVICE)
  readonly #slowShare = new Float64Array(KINDS_IN_SERVICE)

  started(request: S, kind: number): void {
    request.serviceBucket = kind
    this.#inService[kind]!++
    this.resumed(request, request.startedAt)
  }

  resumed(request: S, nowMs: number): void {
    request.servingSince = nowMs
    request.answeredThen = this.#answered[request.serviceBucket]!
  }

  answered({ serviceBucket: kind, servingSince }: S, nowMs: number): void {
    this.#inService[kind]!--
    this.#answered[kind]!++
    const tookMs = nowMs - servingSince
    const slow = tookMs > SLOW_MS ? 1 : tookMs > QUICK_MS ? SOMEWHAT_SLOW : 0
    this.#slowShare[kind]! += (slow - this.#slowShare[kind]!) * SLOW_WEIGHT
    const mean = this.#meanMs[kind]!
    if (mean === 0) {
      this.#meanMs[kind] = tookMs
      this.#deviationMs[kind] = tookMs / 2
      return
    }
    this.#deviationMs[kind]! += (Math.abs(tookMs - mean) - this.#deviationMs[kind]!) * DEVIATION_WEIGHT
    this.#meanMs[kind] = mean + (tookMs - mean) * MEAN_WEIGHT
  }

  gone({ serviceBucket }: Serving): void {
    this.#inService[serviceBucket]!--
  }

  outlasts(request: Serving, nowMs: number, times: number): boolean {
    return this.#answered[request.serviceBucket]! > request.answeredThen && this.straggles(request, nowMs, times)
  }

  straggles({ serviceBucket: kind, servingSince }: Serving, nowMs: number, times: number): boolean {
    const mean = this.#meanMs[kind]!
    return mean > 0 && nowMs - servingSince >= times * mean
  }

  /** How long this kind takes, ms, if it is known to be quick and few of its requests are in service; else Infinity. */
  quickMs(kind: number): number {
    const isKnown = this.#answered[kind]! >= QUICK_OF && this.#inService[kind]! < QUICK_OF
    return isKnown && this.#slowShare[kind]! <= MOST_SLOW ? this.#meanMs[kind]! : Number.POSITIVE_INFINITY
  }

  /** The shortest usual time of this kind, ms; 0 if unknown, or if none is in service: then it may be outdated. */
  leastMs(kind: number): number {
    if (this.#inService[kind] === 0) return 0
    return Math.max(0, this.#meanMs[kind]! - DEVIATIONS * this.#deviationMs[kind]!)
  }
}
