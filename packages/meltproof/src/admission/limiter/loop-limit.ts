/**
 * The limit where the event loop is scarce. A loop that is busy with requests does no more with more of them in service,
 * which only wait for each other: half as many will do, as long as they keep it busy. But it may be busy with other work of
 * the process, while requests merely wait. Throughput tells: with another limit it stays in the first case, and follows the
 * limit in the second. So a limit is tried, and taken back where throughput says so. A loop that rests while requests
 * wait has room, and more come in at once. Pure.
 */
import { Measurement, type MeasurementTuning } from './measurement.ts'

export interface LoopLimitTuning extends MeasurementTuning {
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
  /** A limit that did no good is not tried again for this long, ms. */
  readonly lookMs: number
  readonly grows: number
  readonly promiseMs: number
}

interface Trial {
  readonly from: number
  /** Answers per ms under that limit. */
  readonly rate: number
}

export class LoopLimit {
  /** Infinity: the loop has room. */
  limit: number = Number.POSITIVE_INFINITY
  readonly #busyMs: () => number
  readonly #tuning: LoopLimitTuning
  readonly #measurement: Measurement
  #judgedAt = 0
  #busyThen = 0
  #restedAt = 0
  #changedAt = 0
  #restsBelow = 0
  #restsUntil = 0
  #trial: Trial | undefined
  /** Whether those admitted under the limit before have left. */
  #isSettled = false
  /** What requests took under the limit before, ms, and how many left per ms. */
  #spanMs = 0
  #rate = 0
  /** Too few answers come to measure throughput within the promise. */
  #wasSlow = false
  /** No trial of fewer, or of more, before then. */
  #fewerAt = 0
  #moreAt = 0

  constructor(busyMs: () => number, tuning: LoopLimitTuning) {
    this.#busyMs = busyMs
    this.#tuning = tuning
    this.#measurement = new Measurement(tuning)
  }

  get isBusy(): boolean {
    return this.#judgedAt > this.#restedAt
  }

  /** It has been busy for so long that this is no chance. */
  get isScarce(): boolean {
    return this.#judgedAt - this.#restedAt >= this.#tuning.busyForMs
  }

  get isSet(): boolean {
    return this.limit !== Number.POSITIVE_INFINITY
  }

  answered(serviceMs: number): void {
    this.#measurement.answered(serviceMs)
  }

  forget(): void {
    this.limit = Number.POSITIVE_INFINITY
    this.#trial = undefined
    this.#spanMs = 0
    this.#rate = 0
    this.#wasSlow = false
    this.#fewerAt = 0
    this.#moreAt = 0
  }

  /** `waits`: whether requests wait for a permit. `contend`: whether they are known to wait for each other in service. */
  judge(nowMs: number, counted: number, waits: boolean, contend: boolean): void {
    const elapsedMs = nowMs - this.#judgedAt
    const { busyWindowMs, busyForMs, limitsByLoop, loopBusy } = this.#tuning
    if (elapsedMs < busyWindowMs) return
    const busyMs = this.#busyMs()
    this.#measurement.pass(nowMs, busyMs, waits)
    const rests = busyMs - this.#busyThen < loopBusy * elapsedMs
    this.#judgedAt = nowMs
    this.#busyThen = busyMs
    if (rests) {
      this.#restedAt = nowMs
      if (waits && counted >= this.limit) this.#letMoreIn(nowMs)
    } else if (limitsByLoop && nowMs - Math.max(this.#restedAt, this.#changedAt) >= busyForMs) {
      this.#limit(nowMs, counted, waits, contend)
    }
  }

  #letMoreIn(nowMs: number): void {
    this.#change(this.#more, nowMs)
    this.#restsBelow = this.limit
    this.#restsUntil = nowMs + this.#tuning.lookMs
  }

  #limit(nowMs: number, counted: number, waits: boolean, contend: boolean): void {
    if (!this.isSet) this.#change(Math.max(this.#tuning.fewest, counted), nowMs)
    else if (counted > this.limit) return
    else if (contend || this.#isSlow(nowMs, waits)) {
      // More would only wait with them.
      this.#moreAt = nowMs + this.#tuning.lookMs
      const fewer = this.#fewer(nowMs, Math.max(this.#rate, this.#measurement.rate))
      if (fewer < this.limit) this.#change(fewer, nowMs)
    } else if (this.#hasMeasured(nowMs)) this.#learn(nowMs, waits)
  }

  /** A throughput that takes longer than the promise to measure shows nothing in time: then fewer are safe. */
  #isSlow(nowMs: number, waits: boolean): boolean {
    const { promiseMs, samples } = this.#tuning
    if (!this.#wasSlow && nowMs - this.#changedAt < promiseMs) return false
    this.#wasSlow = waits && this.limit > 1 && this.#measurement.rate * promiseMs < samples
    return this.#wasSlow
  }

  #hasMeasured(nowMs: number): boolean {
    if (this.#isSettled) return this.#measurement.suffices(0)
    if (nowMs - this.#changedAt < Math.min(this.#spanMs, this.#tuning.promiseMs)) return false
    this.#isSettled = true
    this.#measurement.begin()
    return false
  }

  #learn(nowMs: number, waits: boolean): void {
    const { heavyMs } = this.#measurement
    this.#spanMs = heavyMs
    if (this.#takesBack(nowMs, waits)) return
    this.#rate = Math.max(this.#rate, this.#measurement.rate)
    const fewer = this.#fewer(nowMs, this.#rate)
    const mayLower = waits && nowMs >= this.#fewerAt && fewer < this.limit
    const mayRaise = waits && nowMs >= this.#moreAt
    // While answers take less than half of what they may, more in service do no harm: that is tried first.
    const soon = heavyMs < this.#tuning.promiseMs / 2
    if (mayRaise && (soon || !mayLower)) this.#try(this.#more, nowMs)
    else if (mayLower) this.#try(fewer, nowMs)
  }

  /** The end of a trial: the limit before was better if throughput fell with fewer, or did not rise with more. */
  #takesBack(nowMs: number, waits: boolean): boolean {
    if (this.#trial === undefined) return false
    const { from, rate } = this.#trial
    const isMore = this.limit > from
    const lookAt = nowMs + this.#tuning.lookMs
    // The geometric mean is as far from throughput that follows the limit as from throughput that stays.
    const isBetter = this.#measurement.rate > rate * Math.sqrt(this.limit / from)
    const keeps = isBetter || (isMore && !waits)
    this.#trial = undefined
    if (isMore) this.#rate = 0
    if (keeps) return false
    if (isMore) this.#moreAt = lookAt
    else this.#fewerAt = lookAt
    this.#change(from, nowMs)
    return true
  }

  /** Half as many, but as many as keep the loop busy. */
  #fewer(nowMs: number, rate: number): number {
    const work = Math.round(rate * this.#tuning.loopWorkMs)
    const least = Math.max(work, nowMs < this.#restsUntil ? this.#restsBelow : 1)
    return Math.max(least, Math.floor(this.limit / 2))
  }

  get #more(): number {
    return Math.ceil(this.limit * this.#tuning.grows)
  }

  #try(limit: number, nowMs: number): void {
    const trial = { from: this.limit, rate: this.#measurement.rate }
    this.#change(limit, nowMs)
    this.#trial = trial
  }

  #change(limit: number, nowMs: number): void {
    this.limit = limit
    this.#changedAt = nowMs
    this.#trial = undefined
    this.#isSettled = false
    this.#measurement.begin()
  }
}
