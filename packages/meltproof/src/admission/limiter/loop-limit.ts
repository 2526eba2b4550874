/**
 * The limit where the event loop is scarce. A loop that never rests does no more with more requests in service, which
 * only wait for each other. So half as many will do, as long as they keep it busy. A loop that rests while requests
 * wait has room, and more come in at once.
 *
 * But it may be other work of the process that keeps the loop busy, while requests merely wait. Then throughput falls with
 * the limit, and requests take as long among many as among few. So where throughput has fallen, four times as many are
 * tried. By Little's law those that wait for each other then take four times as long; those that merely wait take as long as
 * before, and four times as many leave. From then on a busy loop is no evidence, until requests take twice as long. Pure.
 */
import { Answers } from './answers.ts'

export interface LoopLimitTuning {
  /** Whether a busy loop limits: it says nothing about what is done elsewhere. */
  readonly limitsByLoop: boolean
  /** The loop is scarce when it is busy for more than this share. */
  readonly loopBusy: number
  /** Shortest window, ms: a few turns of a healthy loop may all be busy. */
  readonly busyWindowMs: number
  /** Busy for this long, ms: less may be a garbage collection. */
  readonly busyForMs: number
  /** The limit begins at no less. */
  readonly fewest: number
  /** The limit holds at least this much work, ms. */
  readonly loopWorkMs: number
  /** A limit at which the loop rested is not tried again for this long, ms, and no limit four times over. */
  readonly lookMs: number
  readonly grows: number
  /** A trial waits no longer for answers, ms. */
  readonly promiseMs: number
  /** Answers that what requests usually take is known from. */
  readonly samples: number
}

/** So many times the limit is tried, and so many times one. */
const TRIED = 4
const TRIED_ONE = 2
/** Throughput may have fallen with the limit when it is below this share of what it was. */
const FELL = 0.7
/** Requests that merely waited wait for each other when they take so many times as long. */
const TWICE = 2
/** Answers that a time is taken from, unless they take longer than the promise. */
const SHOW = 4

/** What requests took, ms: those that use most of the time, and the typical one, of so many. */
interface Times {
  readonly all: number
  readonly heavyMs: number
  readonly typicalMs: number
}

/** Four times the limit, to see whether requests take longer. */
interface Trial extends Times {
  readonly before: number
  /** The limit is so many times that. */
  readonly times: number
  readonly meanMs: number
}

interface Seen {
  readonly waits: boolean
  readonly contend: boolean
}

export class LoopLimit {
  /** Infinity: the loop has room. */
  limit: number = Number.POSITIVE_INFINITY
  readonly #busyMs: () => number
  readonly #tuning: LoopLimitTuning
  readonly #answers = new Answers()
  #judgedAt = 0
  #busyThen = 0
  #restedAt = 0
  #changedAt = 0
  #restsBelow = 0
  #restsUntil = 0
  /** The most answers per ms since the limit was first set. */
  #best = 0
  /** Of requests that began no earlier than `#beganFrom`, answered since. */
  readonly #taken = new Answers()
  #beganFrom = 0
  #since = 0
  #trial: Trial | undefined
  #triesAt = 0
  /** What requests took while the loop rested, or while it was busy and they were shown to merely wait. */
  #usual: Times | undefined
  /** They take no longer, although the loop is busy. */
  #isUsual = false

  constructor(busyMs: () => number, tuning: LoopLimitTuning) {
    this.#busyMs = busyMs
    this.#tuning = tuning
  }

  get isBusy(): boolean {
    return this.#judgedAt > this.#restedAt
  }

  /** It has been busy for so long that this is no chance. */
  get isScarce(): boolean {
    return !this.#isUsual && this.#judgedAt - this.#restedAt >= this.#tuning.busyForMs
  }

  get isSet(): boolean {
    return this.limit !== Number.POSITIVE_INFINITY
  }

  answered(nowMs: number, serviceMs: number): void {
    this.#answers.add(serviceMs)
    const counts = nowMs - serviceMs >= this.#beganFrom && serviceMs <= 2 * this.#tuning.promiseMs
    if (counts) this.#taken.add(serviceMs)
  }

  forget(): void {
    this.limit = Number.POSITIVE_INFINITY
    this.#trial = undefined
  }

  /** `waits`: whether requests wait for a permit. `contend`: whether they are known to wait for each other in service. */
  judge(nowMs: number, counted: number, waits: boolean, contend: boolean): void {
    const elapsedMs = nowMs - this.#judgedAt
    const { busyWindowMs, busyForMs, loopBusy } = this.#tuning
    if (elapsedMs < busyWindowMs) return
    const busyMs = this.#busyMs()
    const rests = busyMs - this.#busyThen < loopBusy * elapsedMs
    this.#judgedAt = nowMs
    this.#busyThen = busyMs
    if (rests) {
      this.#restedAt = nowMs
      this.#isUsual = false
      if (this.#taken.all >= this.#tuning.samples) this.#learn(nowMs)
      if (waits && counted >= this.limit) this.#letMoreIn(nowMs)
      return
    }
    // What requests take is known of stretches in which it was busy or rested all the time.
    if (nowMs - elapsedMs <= this.#restedAt && !this.isSet) this.#count(nowMs)
    if (nowMs - Math.max(this.#restedAt, this.#changedAt) >= busyForMs) {
      this.#whileBusy(nowMs, counted, { waits, contend })
    }
  }

  #learn(nowMs: number): void {
    const { all, heavyMs, typicalMs } = this.#taken
    this.#usual = { all, heavyMs, typicalMs }
    this.#count(nowMs)
  }

  #letMoreIn(nowMs: number): void {
    const { grows, lookMs } = this.#tuning
    this.#change(Math.ceil(this.limit * grows), nowMs)
    this.#restsBelow = this.limit
    this.#restsUntil = nowMs + lookMs
  }

  #whileBusy(nowMs: number, counted: number, seen: Seen): void {
    const { fewest, limitsByLoop } = this.#tuning
    if (!limitsByLoop) return
    const isUsual = (this.#isUsual || !this.isSet) && this.#areUsual(nowMs)
    if (this.isSet) {
      if (isUsual) this.#letMoreWait(nowMs, counted, seen.waits)
      else if (this.#trial !== undefined) this.#judgeTrial(nowMs, this.#trial, seen.waits)
      else if (counted > this.limit) this.#count(nowMs, nowMs)
      else this.#lower(nowMs, seen)
    } else if (!isUsual) {
      this.#best = 0
      this.#change(Math.max(fewest, counted), nowMs)
    }
  }

  #letMoreWait(nowMs: number, counted: number, waits: boolean): void {
    if (counted >= this.limit && waits) this.#change(TRIED * this.limit, nowMs)
  }

  #lower(nowMs: number, { waits, contend }: Seen): void {
    if (waits && !contend && nowMs >= this.#triesAt && this.#mayHaveFallen(nowMs)) {
      if (this.#shows(nowMs)) this.#try(nowMs)
      return
    }
    const work = Math.round(this.#rate(nowMs) * this.#tuning.loopWorkMs)
    const least = Math.max(work, nowMs < this.#restsUntil ? this.#restsBelow : 1)
    if (least < this.limit) this.#change(Math.max(least, Math.floor(this.limit / 2)), nowMs)
  }

  #rate(nowMs: number): number {
    return this.#answers.count / (nowMs - this.#changedAt)
  }

  /** Whether throughput is below what it was, by more than chance: of n answers the square root of n. */
  #mayHaveFallen(nowMs: number): boolean {
    const { all } = this.#answers
    const overMs = nowMs - this.#changedAt
    this.#best = Math.max(this.#best, all / overMs)
    // Fewer than one cannot be tried, so that throughput shows nothing there.
    return this.limit === 1 || all + Math.sqrt(all) + 1 < FELL * this.#best * overMs
  }

  #shows(nowMs: number): boolean {
    return this.#taken.all >= (nowMs - this.#since < 2 * this.#tuning.promiseMs ? SHOW : 1)
  }

  #try(nowMs: number): void {
    const { all, heavyMs, meanMs, typicalMs } = this.#taken
    const times = this.limit === 1 ? TRIED_ONE : TRIED
    const trial = { before: this.limit, times, all, heavyMs, meanMs, typicalMs }
    this.#change(times * this.limit, nowMs)
    // Those that began before it leave first.
    const leftMs = nowMs + Math.min(heavyMs, this.#tuning.promiseMs)
    this.#count(leftMs, leftMs)
    this.#trial = trial
  }

  #judgeTrial(nowMs: number, trial: Trial, waits: boolean): void {
    if (!this.#shows(nowMs)) return
    // The geometric mean is as far from as many as from so many times as many.
    const more = Math.sqrt(trial.times)
    const usual = (trial.before / trial.meanMs) * (nowMs - this.#changedAt)
    const follows = !waits || this.#answers.all > more * usual
    if (follows && !this.#areLonger(trial, more, 0)) {
      this.#trial = undefined
      this.#usual = trial
      this.#isUsual = true
      this.#count(nowMs)
    } else this.#takeBack(trial.before, nowMs)
  }

  #takeBack(limit: number, nowMs: number): void {
    this.#change(limit, nowMs)
    this.#triesAt = nowMs + this.#tuning.lookMs
  }

  /** Requests that began earlier count as well, unless it is said from when on. */
  #count(nowMs: number, beganFrom = Number.NEGATIVE_INFINITY): void {
    this.#since = nowMs
    this.#beganFrom = beganFrom
    this.#taken.clear()
  }

  #areLonger(than: Times, times: number, moreMs: number): boolean {
    const { all, heavyMs, typicalMs } = this.#taken
    if (heavyMs > times * than.heavyMs + moreMs) return true
    // Of few quick and slow ones the typical one is chance.
    return Math.min(all, than.all) >= this.#tuning.samples && typicalMs > times * than.typicalMs + moreMs
  }

  /** Whether requests take as long as usual although the loop is busy. */
  #areUsual(nowMs: number): boolean {
    if (this.#usual === undefined) return false
    const { busyForMs, loopWorkMs } = this.#tuning
    const wereUsual = this.#isUsual
    const shows = this.#shows(nowMs)
    if (wereUsual && (nowMs - this.#since < busyForMs || !shows)) return true
    this.#isUsual = shows && !this.#areLonger(this.#usual, TWICE, loopWorkMs)
    this.#count(nowMs)
    if (wereUsual && !this.#isUsual && this.isSet) this.#takeBack(Math.max(1, Math.floor(this.limit / TRIED)), nowMs)
    return this.#isUsual
  }

  #change(limit: number, nowMs: number): void {
    this.limit = limit
    this.#changedAt = nowMs
    this.#trial = undefined
    this.#answers.clear()
    this.#count(nowMs, nowMs)
  }
}
