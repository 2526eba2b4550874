/**
 * The limit while the event loop is the scarce resource. If a loop never rests, more requests in service add no
 * throughput and only wait for each other. So the limit is halved again and again while the loop stays busy. If the
 * loop rests while requests wait, it has room, and more are admitted at once. Before a busy loop has a limit,
 * further requests wait, because handlers that begin with an asynchronous call would otherwise all start. They do not
 * wait if requests were in service while the loop last rested, because those depend on something else.
 *
 * The process may also have other work that keeps the loop busy, for example a background job. Requests that only wait,
 * say for a database, then take no longer than before (usual-times.ts), and are not limited. If the loop was never seen
 * at rest, it is unknown how long they took before, so they are limited; once this has halved throughput, four times
 * the limit is tried (loop-trial.ts). Pure.
 */
import { type Answered, Answers } from './answers.ts'
import { LoopTrial, TRIAL } from './loop-trial.ts'
import { SHOW, UsualTimes, type UsualTimesTuning } from './usual-times.ts'

export interface LoopLimitTuning extends UsualTimesTuning {
  /** True if a busy loop leads to a limit. False for outbound calls: the loop says nothing about their servers. */
  readonly limitsByLoop: boolean
  /** A loop that is busy for less than this share of the time has room. */
  readonly loopBusy: number
  /** Shortest window for measuring the loop's busy share, ms: a few turns of a healthy loop may all be busy. */
  readonly busyWindowMs: number
  /** The first limit is never lower than this. */
  readonly fewest: number
  /** Time before a lower limit is tried again, ms. */
  readonly lookMs: number
  readonly grows: number
}

/** A loop that is busy for this share of the time while nothing is in service may be kept busy by other work. */
const OTHERS_SHARE = 1 / 2
/** Requests are held back once the loop has been busy for this many windows: a single one may be chance. */
const HOLD_WINDOWS = 2
/** A busy loop that gets less than this share of CPU time is starved by other processes: nothing is held back. */
const HOLD_CPU = 1 / 4

export class LoopLimit {
  /** Infinity while the loop has room. */
  limit: number = Number.POSITIVE_INFINITY
  /** Maximum in service while further requests are held back, before there is a limit; otherwise Infinity. */
  hold: number = Number.POSITIVE_INFINITY
  /** Since when the loop delays requests, ms; Infinity if it does not, or for too short a time to matter. */
  delaysSince: number = Number.POSITIVE_INFINITY
  /** When {@link judge} is next due, ms. */
  dueAt: number
  readonly #busyMs: () => number
  readonly #cpuMs: () => number
  readonly #tuning: LoopLimitTuning
  /** Answers since the limit changed. */
  readonly #answers: Answers
  readonly #answered: Answered
  readonly #times: UsualTimes
  readonly #trial: LoopTrial
  #judgedAt = 0
  /** Number of answers, and CPU time in ms, when the loop last rested or the limit changed. */
  #answeredThen = 0
  #cpuThen = 0
  #emptyThen = 0
  #emptyMs = 0
  #busyThen = 0
  #restedAt = 0
  /** Requests in service at the last judgement, and at both ends of the last window in which the loop rested. */
  #countedThen = 0
  #countedAtRest = 0
  #changedAt = 0
  #restsBelow = 0
  #restsUntil = 0

  /** Both times are cumulative, ms. A loop without the core is busy, but uses no CPU time. */
  constructor(busyMs: () => number, cpuMs: () => number, tuning: LoopLimitTuning, answered: Answered) {
    this.#busyMs = busyMs
    this.#cpuMs = cpuMs
    this.#tuning = tuning
    this.#answered = answered
    this.dueAt = tuning.busyWindowMs
    this.#answers = new Answers(answered)
    this.#times = new UsualTimes(tuning, answered)
    this.#trial = new LoopTrial(tuning.lookMs, answered)
  }

  get isBusy(): boolean {
    return this.#judgedAt > this.#restedAt
  }

  /** For how long the loop has been busy, ms; 0 while requests take about as long as usual. */
  get scarceForMs(): number {
    return this.#times.areUsual ? 0 : this.#judgedAt - this.#restedAt
  }

  /** True if the loop may delay requests so much that their times show nothing else. */
  get mayBeScarce(): boolean {
    return this.hold !== Number.POSITIVE_INFINITY || this.scarceForMs >= this.#tuning.busyForMs
  }

  get isSet(): boolean {
    return this.limit !== Number.POSITIVE_INFINITY
  }

  forget(): void {
    this.limit = Number.POSITIVE_INFINITY
    this.#trial.forget()
  }

  /** Call it at {@link dueAt} or later. `waits`: requests wait for a permit. `emptyMs`: cumulative time without any. */
  judge(nowMs: number, counted: number, waits: boolean, emptyMs = 0): void {
    this.#emptyMs = emptyMs
    const elapsedMs = nowMs - this.#judgedAt
    const { busyForMs, busyWindowMs, grows, lookMs, loopBusy } = this.#tuning
    const busyMs = this.#busyMs()
    const rests = busyMs - this.#busyThen < loopBusy * elapsedMs
    // Usual times are only learned from a stretch in which the loop was busy, or resting, throughout.
    if (rests === this.isBusy) this.#times.begin(nowMs)
    this.#judgedAt = nowMs
    this.dueAt = nowMs + busyWindowMs
    this.#busyThen = busyMs
    if (rests) {
      this.#times.rested(nowMs)
      this.#restedAt = nowMs
      this.#countedAtRest = Math.min(counted, this.#countedThen)
      this.#beginsBusy()
      if (this.isSet) this.#trial.end()
      if (waits && counted >= this.limit) {
        this.#change(Math.ceil(this.limit * grows), nowMs)
        this.#keepFor(lookMs, nowMs)
      }
    } else if (nowMs - this.#busySince >= busyForMs) this.#lower(nowMs, counted, waits)
    this.#countedThen = counted
    this.hold = this.#holds(nowMs) ? this.#firstLimit(counted) : Number.POSITIVE_INFINITY
    if (!this.mayBeScarce) this.delaysSince = Number.POSITIVE_INFINITY
    // A short stall delays few requests.
    else if (this.hold !== Number.POSITIVE_INFINITY || this.scarceForMs >= 2 * busyForMs)
      this.delaysSince = Math.min(this.delaysSince, Math.max(this.#restedAt, nowMs - 2 * busyForMs))
  }

  /** A number that is already held is kept: in the middle of a turn of the loop, few may be in service by chance. */
  #firstLimit(counted: number): number {
    return this.hold === Number.POSITIVE_INFINITY ? Math.max(this.#tuning.fewest, counted) : this.hold
  }

  #holds(nowMs: number): boolean {
    const { busyWindowMs, fewest, limitsByLoop } = this.#tuning
    if (!limitsByLoop || this.isSet || this.#times.areUsual || this.#countedAtRest >= fewest) return false
    const busyForMs = nowMs - this.#busySince
    return busyForMs >= HOLD_WINDOWS * busyWindowMs && this.#cpuMs() - this.#cpuThen >= HOLD_CPU * busyForMs
  }

  #lower(nowMs: number, counted: number, waits: boolean): void {
    const { fewest, limitsByLoop, loopWorkMs } = this.#tuning
    if (this.#mayBeStarved(nowMs)) return
    if (!this.isSet) {
      if (!this.#times.compare(nowMs, counted) && limitsByLoop) this.#change(this.#firstLimit(counted), nowMs)
      return
    }
    if (counted > this.limit) return
    if (this.#trial.isOn) {
      this.#judgeTrial(nowMs, counted, waits)
      return
    }
    const work = Math.round((this.#answers.count / (nowMs - this.#changedAt)) * loopWorkMs)
    const isOthers = this.#emptyMs - this.#emptyThen >= OTHERS_SHARE * (nowMs - this.#busySince)
    const least = Math.max(work, nowMs < this.#restsUntil ? this.#restsBelow : 1, isOthers ? fewest : 1)
    if (least < this.limit) this.#change(Math.max(least, Math.floor(this.limit / 2)), nowMs)
    else if (!waits) this.#trial.restart()
    else if (this.#trial.starts(nowMs, this.limit)) this.#change(TRIAL * this.limit, nowMs)
  }

  /** When the loop became busy, or when the limit last changed if that is later. */
  get #busySince(): number {
    return Math.max(this.#restedAt, this.#changedAt)
  }

  #beginsBusy(): void {
    this.#answeredThen = this.#answered.all
    this.#emptyThen = this.#emptyMs
    this.#cpuThen = this.#cpuMs()
  }

  /** True if other processes may have the core, or a call blocks: the loop worked too little, with too few answers. */
  #mayBeStarved(nowMs: number): boolean {
    const { busyForMs, loopBusy, promiseMs } = this.#tuning
    const answers = this.#answered.all - this.#answeredThen
    if (answers >= SHOW || nowMs - this.#busySince >= promiseMs) return false
    return this.#cpuMs() - this.#cpuThen < loopBusy * busyForMs
  }

  #judgeTrial(nowMs: number, counted: number, waits: boolean): void {
    const more = this.#trial.judge(nowMs, counted, waits)
    if (more === undefined) return
    const before = this.#trial.end()
    if (!more) this.#change(before, nowMs)
    else {
      this.#times.learn(this.#trial.answers, nowMs)
      this.#keepFor(this.#tuning.lookMs, nowMs)
      if (waits) this.#change(this.limit, nowMs)
      else this.forget()
    }
  }

  /** For `ms`, the limit is not lowered below the present one. */
  #keepFor(ms: number, nowMs: number): void {
    this.#restsBelow = this.limit
    this.#restsUntil = nowMs + ms
  }

  #change(limit: number, nowMs: number): void {
    this.#trial.begin(nowMs, this.#answers.heavyMs)
    this.limit = limit
    this.#changedAt = nowMs
    this.#beginsBusy()
    this.#answers.restart()
  }
}
