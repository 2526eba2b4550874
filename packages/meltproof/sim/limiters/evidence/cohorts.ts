/**
 * Tells whether requests in service wait for each other. What merely waits takes as long however many are in service.
 * What queues takes longer by the time in which those ahead of it leave: their number over the departures per
 * millisecond (Little's law). So cohorts of requests that came among few are compared with later ones that came among
 * more, at an age that all of both have reached or did not live to. Their mean time in service, cut off at that age, is
 * known although some still wait (restricted mean survival time: Royston and Parmar, BMC Medical Research Methodology
 * 2013). It takes a mix of quick and slow requests as it is: kinds, paths and statuses play no part. Pure.
 */

export interface CohortTuning {
  /** Requests in a cohort, at least: half as many as are in service, up to {@link MOST}. */
  readonly cohort: number
  /** Cohorts are apart by this factor in the number in service. */
  readonly apart: number
  /** A rise must be at least this share of the time that those ahead need, */
  readonly shows: number
  /** and at most this multiple of it: a stall, or a mix that changed, is no queue. */
  readonly plausible: number
  /** Standard errors that make a rise clear. */
  readonly clearly: number
}

export const COHORT_TUNING: CohortTuning = { cohort: 5, apart: 1.25, shows: 0.5, plausible: 4, clearly: 3 }

export interface Contention {
  /** How many in service do not wait for each other. */
  readonly knee: number
  /** Departures per ms since the first of them came. */
  readonly rate: number
  /** Time in service among few, ms. */
  readonly aloneMs: number
  /** How long it takes to show, ms. */
  readonly ageMs: number
  /** Two rises in a row show it: a mix that changed makes one. */
  readonly sure: boolean
  /** The cohort among few. */
  readonly serial: number
}

export const NO_TICKET = -1
const MOST = 64
const LEVELS = 64
/** What fewer than this vary by chance is unknown. */
const FEWEST = 4

class Cohort {
  readonly serial: number
  readonly departedThen: number
  readonly startedAt: Float64Array
  /** NaN while in service, negative where it says nothing. */
  readonly tookMs: Float64Array
  count = 0
  #among = 0

  constructor(serial: number, size: number, departedThen: number) {
    this.serial = serial
    this.departedThen = departedThen
    this.startedAt = new Float64Array(size)
    this.tookMs = new Float64Array(size)
  }

  add(nowMs: number, among: number): number {
    this.startedAt[this.count] = nowMs
    this.tookMs[this.count] = Number.NaN
    this.#among += among
    return this.count++
  }

  get isFull(): boolean {
    return this.count === this.startedAt.length
  }

  get meanAmong(): number {
    return this.#among / this.count
  }

  /** The age of the youngest that is still in service, ms; Infinity when none is. */
  youngestMs(nowMs: number): number {
    let youngest = Number.POSITIVE_INFINITY
    for (let i = 0; i < this.count; i++) {
      if (Number.isNaN(this.tookMs[i]!)) youngest = Math.min(youngest, nowMs - this.startedAt[i]!)
    }
    return youngest
  }

  /** Mean time in service up to an age, ms, and its squared standard error. */
  upTo(ageMs: number): { readonly meanMs: number; readonly variance: number } {
    let n = 0
    let sum = 0
    let squares = 0
    for (let i = 0; i < this.count; i++) {
      const took = this.tookMs[i]!
      if (took < 0) continue
      const ms = Number.isNaN(took) ? ageMs : Math.min(took, ageMs)
      n++
      sum += ms
      squares += ms * ms
    }
    if (n < FEWEST) return { meanMs: 0, variance: Number.POSITIVE_INFINITY }
    const meanMs = sum / n
    return { meanMs, variance: Math.max(0, squares / n - meanMs * meanMs) / (n - FEWEST + 1) }
  }
}

export class Cohorts {
  readonly #tuning: CohortTuning
  /** The latest full cohort of each level of the number in service. */
  readonly #levels: (Cohort | undefined)[] = new Array(LEVELS)
  readonly #known = new Map<number, Cohort>()
  #filling: Cohort | undefined
  #serial = 0
  #departed = 0

  constructor(tuning: CohortTuning = COHORT_TUNING) {
    this.#tuning = tuning
  }

  clear(): void {
    this.#levels.fill(undefined)
    this.#known.clear()
    this.#filling = undefined
  }

  /** `among`: how many are in service with it, itself included. Returns what {@link ended} knows it by. */
  admitted(nowMs: number, among: number): number {
    this.#filling ??= this.#begin(among)
    const cohort = this.#filling
    const ticket = cohort.serial * MOST + cohort.add(nowMs, among)
    if (cohort.isFull) this.#place(cohort)
    return ticket
  }

  ended(ticket: number, tookMs: number): void {
    this.#departed++
    this.#note(ticket, tookMs)
  }

  dropped(ticket: number): void {
    this.#note(ticket, -1)
  }

  contention(nowMs: number): Contention | undefined {
    let suspicion: Contention | undefined
    for (let high = LEVELS - 1; high > 0; high--) {
      for (let middle = high - 1; middle >= 0; middle--) {
        const found = this.#between(middle, high, nowMs)
        if (found === undefined) continue
        suspicion ??= found
        for (let low = middle - 1; low >= 0; low--) {
          const before = this.#between(low, middle, nowMs)
          if (before !== undefined) return { ...before, sure: true }
        }
      }
    }
    return suspicion
  }

  #between(lower: number, higher: number, nowMs: number): Contention | undefined {
    const { shows, plausible, clearly, apart } = this.#tuning
    const low = this.#levels[lower]
    const high = this.#levels[higher]
    if (low === undefined || high === undefined || low.serial > high.serial) return undefined
    if (high.meanAmong < apart * low.meanAmong) return undefined
    const ageMs = Math.min(low.youngestMs(nowMs), high.youngestMs(nowMs))
    const few = low.upTo(ageMs)
    const many = high.upTo(ageMs)
    const left = this.#departed - low.departedThen
    const sinceMs = nowMs - low.startedAt[0]!
    // Nobody can leave before the first time in service has passed.
    const pace = left / Math.max(1e-3, sinceMs - few.meanMs)
    const aheadMs = (high.meanAmong - low.meanAmong) / pace
    const riseMs = many.meanMs - few.meanMs
    if (left === 0 || riseMs <= shows * aheadMs || riseMs > plausible * aheadMs) return undefined
    if (riseMs < clearly * Math.sqrt(few.variance + many.variance)) return undefined
    return {
      knee: Math.max(1, high.meanAmong - riseMs * pace),
      rate: left / sinceMs,
      aloneMs: few.meanMs,
      ageMs: Math.min(ageMs, many.meanMs),
      sure: false,
      serial: low.serial,
    }
  }

  #begin(among: number): Cohort {
    const size = Math.min(MOST, Math.max(this.#tuning.cohort, among >> 1))
    const cohort = new Cohort(this.#serial++, size, this.#departed)
    this.#known.set(cohort.serial, cohort)
    return cohort
  }

  #place(cohort: Cohort): void {
    this.#filling = undefined
    const level = Math.min(LEVELS - 1, Math.floor(Math.log(cohort.meanAmong) / Math.log(this.#tuning.apart)))
    const before = this.#levels[level]
    if (before !== undefined) this.#known.delete(before.serial)
    this.#levels[level] = cohort
  }

  #note(ticket: number, tookMs: number): void {
    const cohort = this.#known.get(Math.floor(ticket / MOST))
    if (cohort !== undefined) cohort.tookMs[ticket % MOST] = tookMs
  }
}
