/**
 * The load of a gate over the last one to two seconds: pressure for handlers and clients, utilisation and demand for
 * balancers and autoscalers. Pure.
 */

/** Cumulative figures, ms. */
export interface Worked {
  /** Time in which the event loop was not idle. */
  readonly loopMs: number
  /** Sum of the time that requests spent in service, ms: two requests for one second are 2,000. */
  readonly inServiceMs: number
}

interface Window extends Worked {
  readonly fromMs: number
  offered: number
  waited: number
  shed: number
  failed: number
}

export interface Rates {
  readonly offeredPerS: number
  readonly shedPerS: number
  /** Requests that the app answered with 5xx. */
  readonly failedPerS: number
}

const NONE = { offered: 0, waited: 0, shed: 0, failed: 0 }
const WINDOW_MS = 1000
/** Shortest measured interval, ms: a few turns of a healthy loop may all be busy. */
const SHORTEST_MS = 100
/** Longest interval for rates, ms: a longer one contains a time without requests. */
const LONGEST_MS = 3 * WINDOW_MS

export class LoadMeter {
  readonly #worked: (nowMs: number) => Worked
  #current: Window
  #previous: Window

  constructor(worked: (nowMs: number) => Worked, nowMs: number) {
    this.#worked = worked
    this.#current = this.#from(nowMs)
    this.#previous = this.#from(nowMs)
  }

  offered(nowMs: number): void {
    if (nowMs >= this.#current.fromMs + WINDOW_MS) this.#roll(nowMs)
    this.#current.offered++
  }

  waited(): void {
    this.#current.waited++
  }

  shed(nowMs: number): void {
    this.#roll(nowMs)
    this.#current.shed++
  }

  failed(): void {
    this.#current.failed++
  }

  /** From 0 (every request starts on arrival) to 1 (every request is shed); 0.5 when all wait and none is shed. */
  pressure(nowMs: number = this.#current.fromMs): number {
    this.#roll(nowMs)
    const current = this.#current
    const previous = this.#previous
    const sheds = current.shed + previous.shed
    const offered = Math.max(current.offered + previous.offered, sheds)
    if (offered === 0) return 0
    // A request may be offered in one window and wait in the next, so the share is capped.
    const waited = Math.min(1, (current.waited + previous.waited) / offered)
    const shed = sheds / offered
    return Math.max(waited, shed) / 2 + shed / 2
  }

  /**
   * Offered requests over admitted ones: 1 without sheds, 3 when three times as many instances are needed. Utilisation
   * never exceeds 1 and so cannot show this. If no request was admitted, demand is the number offered.
   */
  demand(nowMs: number): number {
    this.#roll(nowMs)
    const shed = this.#sum('shed')
    // A request that waited may be shed in a later window than it was offered in, so sheds can exceed offers.
    const offered = Math.max(this.#sum('offered'), shed)
    return Math.max(1, offered / Math.max(1, offered - shed))
  }

  load(nowMs: number, limit: number | undefined): number {
    return this.utilisation(nowMs, limit) * this.demand(nowMs)
  }

  /**
   * 0 to 1: the larger of the loop's busy share and the ratio of requests in service to the limit.
   * @param limit undefined while the limit is unknown: then only the loop counts
   */
  utilisation(nowMs: number, limit: number | undefined): number {
    return this.#measured(nowMs, limit).utilisation
  }

  /** Rates over the interval of {@link utilisation}. Undefined if that is too short, or mostly without requests. */
  rates(nowMs: number, limit: number | undefined): Rates | undefined {
    const { since } = this.#measured(nowMs, limit)
    const elapsedMs = nowMs - since.fromMs
    if (elapsedMs < SHORTEST_MS || elapsedMs > LONGEST_MS) return undefined
    const perS = (figure: 'offered' | 'shed' | 'failed'): number =>
      ((since === this.#current ? since[figure] : this.#sum(figure)) / elapsedMs) * 1000
    return { offeredPerS: perS('offered'), shedPerS: perS('shed'), failedPerS: perS('failed') }
  }

  #measured(nowMs: number, limit: number | undefined): { readonly utilisation: number; readonly since: Window } {
    this.#roll(nowMs)
    const mean = { utilisation: this.#utilised(this.#previous, nowMs, limit), since: this.#previous }
    const isStretched = nowMs - mean.since.fromMs > 2 * WINDOW_MS && nowMs - this.#current.fromMs >= SHORTEST_MS
    if (!isStretched) return mean
    // A time without requests must not hide the load that follows it.
    const utilisation = this.#utilised(this.#current, nowMs, limit)
    return utilisation < mean.utilisation ? mean : { utilisation, since: this.#current }
  }

  #utilised({ fromMs, loopMs, inServiceMs }: Window, nowMs: number, limit: number | undefined): number {
    const elapsedMs = nowMs - fromMs
    if (elapsedMs <= 0) return 0
    const worked = this.#worked(nowMs)
    const loop = (worked.loopMs - loopMs) / elapsedMs
    const permits = limit === undefined ? 0 : (worked.inServiceMs - inServiceMs) / elapsedMs / limit
    return Math.min(1, Math.max(0, loop, permits))
  }

  #sum(figure: 'offered' | 'waited' | 'shed' | 'failed'): number {
    return this.#current[figure] + this.#previous[figure]
  }

  #roll(nowMs: number): void {
    const age = nowMs - this.#current.fromMs
    if (age < WINDOW_MS) return
    this.#previous = age < 2 * WINDOW_MS ? this.#current : { ...this.#current, ...NONE }
    this.#current = this.#from(nowMs)
  }

  #from(fromMs: number): Window {
    return { fromMs, ...this.#worked(fromMs), ...NONE }
  }
}
