/** Requests in service and answers of each kind, and its current service time: how much time one needs. Pure. */

export const KINDS_IN_SERVICE = 256

export interface Serving {
  startedAt: number
  /**
   * When others could first overtake it: its start, or the end of a wait for its client ({@link ServiceTimes.again}).
   */
  servingSince: number
  kindNoted: number
  answeredThen: number
}

/** Weights of a new service time, as TCP estimates its round trips (Jacobson, SIGCOMM 1988; RFC 6298). */
const MEAN_WEIGHT = 1 / 8
const DEVIATION_WEIGHT = 1 / 4
const DEVIATIONS = 2
/**
 * A kind that leaves within this time, ms, as this many answers have shown, needs no limit but the loop's; unless as many are
 * in service, so that they seem to leave no more.
 */
const QUICK_MS = 10
const QUICK_OF = 16
/** Of its answers at most this share was slower, in the last hundred or so: a few quick ones do not hide what is slow. */
const MOST_SLOW = 0.015
const SLOW_WEIGHT = 1 / 64

export class ServiceTimes<S extends Serving> {
  // By kind; times in ms, 0 before the first.
  readonly #answered = new Float64Array(KINDS_IN_SERVICE)
  readonly #inService = new Int32Array(KINDS_IN_SERVICE)
  readonly #meanMs = new Float64Array(KINDS_IN_SERVICE)
  readonly #deviationMs = new Float64Array(KINDS_IN_SERVICE)
  readonly #slowShare = new Float64Array(KINDS_IN_SERVICE)

  started(request: S, kind: number): void {
    request.kindNoted = kind
    this.#inService[kind]!++
    this.again(request, request.startedAt)
  }

  again(request: S, nowMs: number): void {
    request.servingSince = nowMs
    request.answeredThen = this.#answered[request.kindNoted]!
  }

  answered({ kindNoted: kind, servingSince }: S, nowMs: number): void {
    this.#inService[kind]!--
    this.#answered[kind]!++
    const tookMs = nowMs - servingSince
    this.#slowShare[kind]! += ((tookMs > QUICK_MS ? 1 : 0) - this.#slowShare[kind]!) * SLOW_WEIGHT
    const mean = this.#meanMs[kind]!
    if (mean === 0) {
      this.#meanMs[kind] = tookMs
      this.#deviationMs[kind] = tookMs / 2
      return
    }
    this.#deviationMs[kind]! += (Math.abs(tookMs - mean) - this.#deviationMs[kind]!) * DEVIATION_WEIGHT
    this.#meanMs[kind] = mean + (tookMs - mean) * MEAN_WEIGHT
  }

  gone({ kindNoted }: Serving): void {
    this.#inService[kindNoted]!--
  }

  outlasts(request: Serving, nowMs: number, times: number): boolean {
    return this.#answered[request.kindNoted]! > request.answeredThen && this.straggles(request, nowMs, times)
  }

  straggles({ kindNoted: kind, servingSince }: Serving, nowMs: number, times: number): boolean {
    const mean = this.#meanMs[kind]!
    return mean > 0 && nowMs - servingSince >= times * mean
  }

  /** It is known to leave quickly: it holds nothing that others wait for. */
  isQuick(kind: number): boolean {
    const usualMs = this.#meanMs[kind]! + DEVIATIONS * this.#deviationMs[kind]!
    if (this.#answered[kind]! < QUICK_OF || this.#inService[kind]! >= QUICK_OF) return false
    return usualMs <= QUICK_MS && this.#slowShare[kind]! <= MOST_SLOW
  }

  /** The shortest service time of this kind, ms; 0 if unknown or none is in service, as it may be outdated. */
  leastMs(kind: number): number {
    if (this.#inService[kind] === 0) return 0
    return Math.max(0, this.#meanMs[kind]! - DEVIATIONS * this.#deviationMs[kind]!)
  }
}
