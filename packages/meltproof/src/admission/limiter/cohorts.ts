/**
 * Detects whether requests in service wait for each other. Slow work takes equally long at any concurrency. Work in a
 * queue takes longer by the number of requests ahead of it divided by the departures per millisecond (Little's law). So
 * a cohort of requests that arrived while few were in service is compared with a later cohort that arrived while more
 * were. The comparison is made at an age that each request of both cohorts has reached, unless it ended earlier. The
 * mean time in service, cut off at that age, is known although some requests have not ended (restricted mean survival
 * time: Royston and Parmar, BMC Medical Research Methodology 2013). Quick and slow requests may be mixed: paths and
 * statuses play no part. A busy event loop delays requests too; what it delayed is sure evidence only if the rise is
 * longer than that delay. Pure.
 */
import { type Answered, Answers } from './answers.ts'

export interface CohortTuning {
  /** Minimum size of a cohort. Cohorts have half as many requests as are in service, up to {@link LARGEST}. */
  readonly cohort: number
  /** Two cohorts are compared if their numbers in service differ at least by this factor. */
  readonly apart: number
  /** A rise in the time in service must exceed this share of the time in which the additional requests ahead leave. */
  readonly shows: number
  /** A rise in time must also exceed this share of the time that requests take with few in service. */
  readonly matters: number
  /** A rise is significant if it is at least this many standard errors. */
  readonly standardErrors: number
  /** False if the event loop only delays the requests, and does not do their work: outbound calls. */
  readonly limitsByLoop: boolean
}

export interface Contention {
  /** Mean number in service while the later cohort arrived: it is the higher of the two. */
  readonly most: number
  /** The number in service up to which requests do not wait for each other. */
  readonly knee: number
  /** Service time of the slower requests while few requests were in service, ms. */
  readonly aloneMs: number
  /** Time in service at which the rise shows, ms. */
  readonly ageMs: number
  /** Answers per ms (answers.ts) since the cohort with the most in service began; 0 unless {@link isSure}. */
  readonly rate: number
  /** True after two rises in a row: a single rise may come from a changed mix of requests. */
  readonly isSure: boolean
  /** False if the delay of the later requests by something else may explain why they took longer. */
  readonly exceedsDelay: boolean
  /** Serial number of the cohort with few in service, and when its first request arrived, ms. */
  readonly serial: number
  readonly sinceMs: number
}

/** Maximum requests in a cohort, and number of levels into which the number in service is divided. */
const LARGEST = 64
const LEVELS = 64
/** The mean of fewer requests is not used. */
const FEWEST = 4
/** Replaces `matters` if something else delayed the later requests, because it does not delay all equally. */
const MATTERS_IF_DELAYED = 1 / 2

/** One request of a cohort. */
export interface Ticket {
  readonly startedAt: number
  /** Written when the request leaves: NaN while in service, negative if the duration must be ignored. */
  tookMs: number
}

interface Times {
  readonly meanMs: number
  /** Mean weighted by the time itself, ms: the time of the slow requests. */
  readonly heavyMs: number
  /** Squared standard error of the mean. */
  readonly variance: number
}

class Cohort {
  readonly serial: number
  /** Answers since the first request of the cohort arrived. */
  readonly answers: Answers
  readonly tickets: Ticket[] = []
  /** Until when something else delayed these requests, ms; 0 if nothing has. */
  delayedUntilMs = 0
  readonly #size: number
  #inService = 0
  /** The times once every request has left; stored, because all cohorts are compared every few milliseconds. */
  #final: Times | undefined

  constructor(serial: number, fewest: number, inService: number, answers: Answers) {
    this.serial = serial
    this.#size = Math.min(LARGEST, Math.max(fewest, inService >> 1))
    this.answers = answers
  }

  /** Adds a request. Returns true if the cohort is full now. */
  add(ticket: Ticket, inService: number): boolean {
    this.#inService += inService
    return this.tickets.push(ticket) === this.#size
  }

  delayed(sinceMs: number, untilMs: number): void {
    if (this.tickets.some(({ startedAt, tookMs }) => !(startedAt + tookMs <= sinceMs))) this.delayedUntilMs = untilMs
  }

  get sinceMs(): number {
    return this.tickets[0]!.startedAt
  }

  get meanInService(): number {
    return this.#inService / this.tickets.length
  }

  /** Age of the youngest request that is still in service, ms; Infinity if none is. */
  youngestMs(nowMs: number): number {
    if (this.#final !== undefined) return Number.POSITIVE_INFINITY
    const youngest = this.tickets.findLast(({ tookMs }) => Number.isNaN(tookMs))
    return youngest === undefined ? Number.POSITIVE_INFINITY : nowMs - youngest.startedAt
  }

  /** Times in service, ms, cut off at an age, which is Infinity only once every request has left. */
  upTo(ageMs: number): Times {
    if (ageMs !== Number.POSITIVE_INFINITY) return this.#timesUpTo(ageMs)
    this.#final ??= this.#timesUpTo(ageMs)
    return this.#final
  }

  #timesUpTo(ageMs: number): Times {
    let n = 0
    let sum = 0
    let squares = 0
    for (const { tookMs: took } of this.tickets) {
      if (took < 0) continue
      const ms = Number.isNaN(took) ? ageMs : Math.min(took, ageMs)
      n++
      sum += ms
      squares += ms * ms
    }
    if (n < FEWEST) return { meanMs: 0, heavyMs: 0, variance: Number.POSITIVE_INFINITY }
    const meanMs = sum / n
    const variance = Math.max(0, squares / n - meanMs * meanMs) / (n - FEWEST + 1)
    return { meanMs, heavyMs: sum === 0 ? 0 : squares / sum, variance }
  }
}

export class Cohorts {
  readonly #tuning: CohortTuning
  /** For each level of the number in service, the latest full cohort. */
  readonly #levels: (Cohort | undefined)[] = new Array(LEVELS)
  /** The lowest and the highest level that has a cohort. */
  #lowest = LEVELS
  #highest = 0
  #filling: Cohort | undefined
  #serial = 0
  readonly #answered: Answered
  readonly #logApart: number

  constructor(tuning: CohortTuning, answered: Answered) {
    this.#tuning = tuning
    this.#answered = answered
    this.#logApart = Math.log(tuning.apart)
  }

  clear(): void {
    this.#levels.fill(undefined)
    this.#lowest = LEVELS
    this.#highest = 0
    this.#filling = undefined
  }

  /** Records that something else delayed the requests in service at any time from `sinceMs` to `untilMs` (now). */
  delayed(sinceMs: number, untilMs: number): void {
    for (const cohort of [...this.#levels, this.#filling]) cohort?.delayed(sinceMs, untilMs)
  }

  /** `inService`: the number in service, including this request. Returns the request's ticket. */
  admitted(nowMs: number, inService: number): Ticket {
    this.#filling ??= new Cohort(this.#serial++, this.#tuning.cohort, inService, new Answers(this.#answered))
    const ticket = { startedAt: nowMs, tookMs: Number.NaN }
    if (this.#filling.add(ticket, inService)) this.#place(this.#filling)
    return ticket
  }

  contention(nowMs: number): Contention | undefined {
    let suspicion: Contention | undefined
    for (let high = this.#highest; high > this.#lowest; high--) {
      const latest = this.#levels[high]
      if (latest === undefined) continue
      for (let middle = high - 1; middle >= this.#lowest; middle--) {
        const found = this.#between(middle, high, nowMs)
        if (found === undefined) continue
        if (suspicion === undefined || found.serial > suspicion.serial) suspicion = found
        if (!found.exceedsDelay) continue
        for (let low = middle - 1; low >= this.#lowest; low--) {
          const before = this.#between(low, middle, nowMs)
          if (!before?.exceedsDelay) continue
          return { ...before, isSure: true, rate: latest.answers.count / Math.max(1, nowMs - latest.sinceMs) }
        }
      }
    }
    return suspicion
  }

  #between(lower: number, higher: number, nowMs: number): Contention | undefined {
    const { shows, matters, standardErrors, apart } = this.#tuning
    const low = this.#levels[lower]
    const high = this.#levels[higher]
    if (low === undefined || high === undefined || low.serial > high.serial) return undefined
    if (high.meanInService < apart * low.meanInService) return undefined
    const ageMs = Math.min(low.youngestMs(nowMs), high.youngestMs(nowMs))
    const few = low.upTo(ageMs)
    const many = high.upTo(ageMs)
    const left = low.answers.all
    const { sinceMs } = low
    // No request can leave before the first service time has passed.
    const pace = left / Math.max(1e-3, nowMs - sinceMs - few.meanMs)
    const aheadMs = (high.meanInService - low.meanInService) / pace
    const riseMs = many.meanMs - few.meanMs
    const leastShare = high.delayedUntilMs > 0 ? MATTERS_IF_DELAYED : matters
    const noiseMs = standardErrors * Math.sqrt(few.variance + many.variance)
    const leastMs = Math.max(shows * aheadMs, leastShare * few.meanMs, noiseMs)
    if (left === 0 || riseMs <= leastMs) return undefined
    // A delay of both cohorts lengthens both times. Once the lower cohort has left, only the higher one is delayed.
    const delayMs = Math.max(0, high.delayedUntilMs - Math.max(high.sinceMs, sinceMs + few.meanMs))
    const exceedsDelay = riseMs - delayMs > leastMs
    if (!exceedsDelay && !this.#tuning.limitsByLoop) return undefined
    return {
      most: high.meanInService,
      knee: Math.max(1, high.meanInService - riseMs * pace),
      aloneMs: few.heavyMs,
      ageMs: Math.min(ageMs, many.meanMs),
      rate: 0,
      isSure: false,
      exceedsDelay,
      serial: low.serial,
      sinceMs,
    }
  }

  #place(cohort: Cohort): void {
    this.#filling = undefined
    const level = Math.min(LEVELS - 1, Math.max(0, Math.floor(Math.log(cohort.meanInService) / this.#logApart)))
    this.#levels[level] = cohort
    this.#lowest = Math.min(this.#lowest, level)
    this.#highest = Math.max(this.#highest, level)
  }
}
