/**
 * How the requests of each kind fare in service: how many are there, how many have been answered, and how long an answer
 * takes at the moment. From that follows whether a request has been overtaken, and how much time it needs. Pure.
 */

/** Kinds told apart; those that hash to the same one share its fate. */
export const KINDS_IN_SERVICE = 256

/** What is noted of a request in service; of no meaning to anybody else. */
export interface Serving {
  startedAt: number
  /** Since when others could overtake it: its start, or when it ceased to wait for its client ({@link ServiceTimes.again}). */
  servingSince: number
  /** A whole number below {@link KINDS_IN_SERVICE}. */
  kindNoted: number
  /** How many of its kind had been answered when it came. */
  answeredThen: number
  /** How many of them were in service then, with it. */
  besideThen: number
}

/** Weights of one more service time, as TCP estimates its round trips (Jacobson, SIGCOMM 1988; RFC 6298). */
const MEAN_WEIGHT = 1 / 8
const DEVIATION_WEIGHT = 1 / 4
/** A service time this many mean deviations below the mean is as short as it gets. */
const DEVIATIONS = 2

export class ServiceTimes<S extends Serving> {
  // By kind; times in ms, 0 before the first.
  readonly #answered = new Float64Array(KINDS_IN_SERVICE)
  readonly #inService = new Int32Array(KINDS_IN_SERVICE)
  readonly #meanMs = new Float64Array(KINDS_IN_SERVICE)
  readonly #deviationMs = new Float64Array(KINDS_IN_SERVICE)

  /** A request starts. */
  started(request: S, kind: number): void {
    request.kindNoted = kind
    this.#inService[kind]!++
    this.again(request, request.startedAt)
  }

  /** What it took so far was its client's doing. */
  again(request: S, nowMs: number): void {
    request.servingSince = nowMs
    request.answeredThen = this.#answered[request.kindNoted]!
    request.besideThen = this.#inService[request.kindNoted]!
  }

  /** It was answered at `nowMs`, and is not in service any more. */
  answered({ kindNoted: kind, servingSince }: S, nowMs: number): void {
    this.#inService[kind]!--
    this.#answered[kind]!++
    const tookMs = nowMs - servingSince
    const mean = this.#meanMs[kind]!
    if (mean === 0) {
      this.#meanMs[kind] = tookMs
      this.#deviationMs[kind] = tookMs / 2
      return
    }
    this.#deviationMs[kind]! += (Math.abs(tookMs - mean) - this.#deviationMs[kind]!) * DEVIATION_WEIGHT
    this.#meanMs[kind] = mean + (tookMs - mean) * MEAN_WEIGHT
  }

  /** It is not in service any more, and was not answered: nobody has been overtaken. */
  gone({ kindNoted }: S): void {
    this.#inService[kindNoted]!--
  }

  /**
   * Whether `times` as many of its kind have been answered since it came as were in service then or are now. By Little's
   * law it has then taken so many times as long as its like, whatever that takes at the moment.
   */
  overtaken({ kindNoted: kind, answeredThen, besideThen }: S, times: number): boolean {
    const beside = Math.max(besideThen, this.#inService[kind]!)
    return this.#answered[kind]! - answeredThen >= times * beside
  }

  /** Whether some of its kind were answered since it came, and it has taken `times` as long as they do. */
  outlasts(request: S, nowMs: number, times: number): boolean {
    return this.#answered[request.kindNoted]! > request.answeredThen && this.straggles(request, nowMs, times)
  }

  /** Whether it has taken `times` as long as those of its kind who were answered. */
  straggles({ kindNoted: kind, servingSince }: S, nowMs: number, times: number): boolean {
    const mean = this.#meanMs[kind]!
    return mean > 0 && nowMs - servingSince >= times * mean
  }

  /**
   * The least time in which one of this kind is answered, going by those who were, ms. 0 where nothing is known, and where
   * none is in service: what was known may be of another day.
   */
  leastMs(kind: number): number {
    if (this.#inService[kind] === 0) return 0
    return Math.max(0, this.#meanMs[kind]! - DEVIATIONS * this.#deviationMs[kind]!)
  }
}
