/**
 * The concurrency limiter: it limits nothing before it has evidence. By Little's law a service that answers `rate`
 * requests a millisecond, each of which takes `aloneMs` with few in service, has `rate * aloneMs` in service. More
 * would only wait for each other, so this number, with some room, is the limit. Three things are evidence:
 *
 * - the event loop never rests (loop-limit.ts);
 * - requests took longer with more in service, twice in a row (cohorts.ts). The first time is a suspicion: for up to
 *   `promiseMs` only a quarter more are admitted;
 * - answers stop for three seconds, while more requests are in service than usually leave within `promiseMs`.
 *
 * Phases of the limit for resources outside the loop, such as a database:
 *
 * - open: nothing is limited, except while a suspicion lasts, or by the loop.
 * - measure: throughput is measured under the first limit. While it falls with the limit, and requests take no longer,
 *   the limit rises by half, until it is removed. If far fewer requests leave than before, those in service do not wait
 *   in a queue, and a quarter more are admitted.
 * - rest: the limit is kept, and raised if throughput rises. Half of it is tried from time to time.
 * - lower: half of the limit is tried. If throughput stays, half is enough; if it falls, the knee is known.
 *
 * Requests that stay far longer than others are not counted (counted-requests.ts, starvation.ts).
 */
import { AfterHalt } from './after-halt.ts'
import { Answered, Answers } from './answers.ts'
import { Cohorts, type Contention, type Ticket } from './cohorts.ts'
import { CountedRequests } from './counted-requests.ts'
import type { Limiter, LimitReason } from './limiter.ts'
import { LoopLimit } from './loop-limit.ts'
import { Measurement } from './measurement.ts'
import { Starvation } from './starvation.ts'
import { LIMITER_TUNING, type LimiterTuning } from './tuning.ts'
import { UsualRate } from './usual-rate.ts'

/** Weight of one more answer in the mean service time, and of one more measurement in the rate. */
const ANSWER_WEIGHT = 0.1
const RATE_WEIGHT = 0.2
/** Minimum interval between comparisons of cohorts, ms. */
const JUDGE_MS = 5
/** A suspicion holds the limit for at least this long, ms. */
const SHORTEST_HOLD_MS = 20
/** Number of measurements before the limit follows rising throughput. */
const MEASUREMENTS_BEFORE_RAISE = 5
/** After the first trial, half the limit is tried only if slow requests take this many `workMs` longer than alone. */
const LATE_WORKS = 1.5
/** If this share of the requests that were in service when the limit was set has left, they are a draining queue. */
const DRAINS = 1 / 2
/** They are not waiting in a queue if they leave at less than this share of the rate measured before the limit. */
const NO_QUEUE = 1 / 4
/**
 * Answers have halted only if none came for HALT_MS, or for HALT_SERVICES mean service times if that is longer, while
 * at least HALT_OF requests are in service. A dependency that takes up to HALT_MS for every request has not halted.
 */
const HALT_MS = 3000
const HALT_SERVICES = 4
const HALT_OF = 64
/** An idle loop makes no progress if no answer comes in QUIET_MS, or QUIET_SERVICES mean service times if longer. */
const QUIET_MS = 400
const QUIET_SERVICES = 2

type Phase = 'open' | 'measure' | 'rest' | 'lower'

export class ConcurrencyLimiter implements Limiter {
  // These are fields, because the gate reads them several times per request. #updateFields() writes them after each
  // event that may change them. While the limit is unknown, only a judgement changes them.
  limit: number
  uncounted = 0
  known = false
  loopHasRoom = true
  ticket: Ticket | undefined
  readonly #answered = new Answered()
  readonly #tuning: LimiterTuning
  readonly #loop: LoopLimit
  readonly #cohorts: Cohorts
  readonly #requests: CountedRequests
  readonly #measurement: Measurement
  readonly #starvation: Starvation
  readonly #rates: UsualRate
  readonly #afterHalt: AfterHalt
  #phase: Phase = 'open'
  #reason: LimitReason = 'none'
  #limit: number
  /** The limit before another one was tried. */
  #before = 0
  #waits = false
  #unboundAt = Number.NEGATIVE_INFINITY
  /** End of the last measurement in which requests waited during at least half of the time. */
  #boundAt = 0
  #meanMs = 0
  #answeredAt = 0
  /** Cumulative time in which nothing was in service, and when the last such time began, ms. */
  #emptyMs = 0
  #emptySince = 0
  #judgedAt = 0
  #holdsUntil = 0
  /** Serial number of the last suspected cohort. */
  #suspected = -1

  /** Maximum departures per ms, and the service time of these requests while few are in service, ms. */
  #rate = 0
  #aloneMs = 0
  #countedThen = 0
  /** In phase `measure`: how long slow requests took under the previous limit, ms; 0 under the first limit. */
  #heavyMs = 0
  /** Answers, since the limit was set, to requests that arrived before it. */
  readonly #old = new Answered()
  readonly #drained = new Answers(this.#old)
  #measured = 0
  /** True while requests from before the limit changed may still be in service. */
  #unsettled = false
  #changedAt = 0
  #trialDueAt = 0
  /** True if half of this limit was never tried. */
  #isFirstTrial = false

  /** `busyMs` and `cpuMs` return cumulative times of the event loop, ms. */
  constructor(busyMs: () => number, tuning: LimiterTuning = LIMITER_TUNING, cpuMs: () => number = busyMs) {
    this.#tuning = tuning
    this.limit = tuning.max
    this.#limit = tuning.max
    this.#loop = new LoopLimit(busyMs, cpuMs, tuning, this.#answered)
    this.#cohorts = new Cohorts(tuning, this.#answered)
    this.#requests = new CountedRequests(2 * tuning.promiseMs)
    this.#measurement = new Measurement(tuning, this.#answered)
    this.#starvation = new Starvation(tuning, this.#requests, this.#answered)
    this.#rates = new UsualRate(tuning.promiseMs, this.#answered)
    this.#afterHalt = new AfterHalt(tuning.promiseMs)
  }

  #updateFields(): void {
    this.known = this.#phase !== 'open' || this.#loop.isSet
    this.uncounted = this.known ? this.#requests.uncounted : 0
    this.limit = Math.min(this.#tuning.max, Math.max(1, Math.floor(this.#counts)) + this.uncounted)
  }

  get usualLimit(): number {
    const tries = this.#phase === 'measure' || this.#phase === 'lower'
    const usual = tries ? this.#before : Math.min(this.#limit, this.#loop.limit)
    return Math.max(this.limit, Math.floor(usual) + this.uncounted)
  }

  /** Maximum number of counted requests in service. */
  get #counts(): number {
    return Math.min(this.#limit, this.#loop.limit, this.#loop.hold)
  }

  /** Like {@link Limiter.known}, but already up to date while an event is being judged. */
  get #isKnown(): boolean {
    return this.#phase !== 'open' || this.#loop.isSet
  }

  get #uncounted(): number {
    return this.#isKnown ? this.#requests.uncounted : 0
  }

  get phase(): Phase {
    return this.#phase
  }

  get reason(): LimitReason {
    if (this.#counts === this.#limit) return this.#reason
    return this.#loop.isSet ? 'loop' : 'busy'
  }

  get searching(): boolean {
    return this.#isHeld || !this.#drains
  }

  get #isHeld(): boolean {
    return this.#reason === 'suspected'
  }

  /** In phase `measure`: true if the requests from before the limit have proved to be a queue that drains. */
  get #drains(): boolean {
    if (this.#phase !== 'measure' || !this.#unsettled) return true
    return this.#drained.all >= DRAINS * this.#countedThen
  }

  get excess(): number {
    return this.#drains ? this.#above : 0
  }

  get #above(): number {
    return Math.max(0, this.#counted - this.#counts)
  }

  isProgressing(nowMs: number): boolean {
    return this.#loop.isBusy || nowMs - this.#answeredAt < Math.max(QUIET_MS, QUIET_SERVICES * this.#meanMs)
  }

  get #counted(): number {
    return this.#requests.inService - this.#uncounted
  }

  admitted(nowMs: number): void {
    this.#pass(nowMs)
    if (this.#requests.inService === 0) {
      this.#answeredAt = nowMs
      this.#emptyMs += nowMs - this.#emptySince
    }
    this.#requests.add()
    this.ticket = undefined
    if (this.#phase === 'open') {
      if (nowMs >= this.#loop.dueAt) this.#judgeLoop(nowMs)
      if (nowMs - this.#answeredAt >= HALT_MS && this.#hasHalted(nowMs)) this.#limitHalted(nowMs)
      else this.ticket = this.#cohorts.admitted(nowMs, this.#requests.recent)
    }
    if (this.known) this.#updateFields()
  }

  completed(nowMs: number, serviceMs: number, ticket?: Ticket): void {
    this.#pass(nowMs)
    // A request that stayed for longer than the window counts as one that stayed for the window.
    const workMs = Math.min(serviceMs, this.#requests.windowMs)
    this.#answered.add(workMs)
    // The loop is judged before the request is removed, because a limit matters only while it is reached.
    if (nowMs >= this.#loop.dueAt) this.#judgeLoop(nowMs)
    this.#requests.remove(nowMs - serviceMs)
    if (this.#requests.inService === 0) this.#emptySince = nowMs
    if (ticket !== undefined) ticket.tookMs = serviceMs
    this.#answeredAt = nowMs
    this.#meanMs += (serviceMs - this.#meanMs) * (this.#meanMs === 0 ? 1 : ANSWER_WEIGHT)
    if (nowMs >= this.#rates.dueAt) this.#rates.update(nowMs)
    if (this.#phase !== 'open') this.#measure(nowMs, nowMs - serviceMs, workMs)
    else if (nowMs - this.#judgedAt >= JUDGE_MS) this.#judge(nowMs)
    if (this.known) this.#updateFields()
  }

  dropped(nowMs: number, serviceMs: number, ticket?: Ticket): void {
    this.#pass(nowMs)
    this.#requests.remove(nowMs - serviceMs)
    if (this.#requests.inService === 0) this.#emptySince = nowMs
    if (ticket !== undefined) ticket.tookMs = -1
    if (this.known) this.#updateFields()
  }

  limitReached(nowMs: number): void {
    this.#pass(nowMs)
    this.#waits = true
    // For `forgetMs` no request has waited, so the learned limits may belong to other traffic.
    if (nowMs - this.#unboundAt > this.#tuning.forgetMs) {
      this.#loop.forget()
      if (this.#phase !== 'open') this.#open()
    }
    if (nowMs >= this.#loop.dueAt) this.#judgeLoop(nowMs)
    this.#updateFields()
  }

  limitCleared(nowMs: number): void {
    this.#pass(nowMs)
    this.#waits = false
    this.#unboundAt = nowMs
    this.#updateFields()
  }

  tick(nowMs: number): void {
    this.#pass(nowMs)
    if (nowMs >= this.#loop.dueAt) this.#judgeLoop(nowMs)
    if (this.#phase === 'open') this.#judgeOpen(nowMs)
    else this.#settled(nowMs)
    if (this.#isKnown) this.#lookWhetherStarved(nowMs)
    this.#updateFields()
  }

  /** Call it when the loop is due. */
  #judgeLoop(nowMs: number): void {
    const wasSet = this.#loop.isSet
    const emptyMs = this.#emptyMs + (this.#requests.inService === 0 ? nowMs - this.#emptySince : 0)
    const { delaysSince } = this.#loop
    this.#loop.judge(nowMs, this.#counted, this.#waits, emptyMs)
    if (delaysSince < this.#loop.delaysSince) this.#cohorts.delayed(delaysSince, nowMs)
    this.loopHasRoom = !this.#loop.isBusy
    if (this.#loop.isSet) {
      const isUnused = !this.#waits && nowMs - this.#unboundAt > this.#tuning.forgetMs
      if (this.#loop.limit > this.#tuning.max || (wasSet && isUnused)) this.#loop.forget()
      else if (!wasSet && !this.#waits) this.#unboundAt = nowMs
    }
    this.#updateFields()
  }

  /** Called by {@link tick}, which may be the only event while the limit of the loop holds requests back. */
  #judgeOpen(nowMs: number): void {
    if (this.#hasHalted(nowMs)) this.#limitHalted(nowMs)
    else if (nowMs - this.#judgedAt >= JUDGE_MS) this.#judge(nowMs)
  }

  #judge(nowMs: number): void {
    this.#judgedAt = nowMs
    if (!this.#isKnown) this.#requests.follow(this.#meanMs)
    // While the loop may be the bottleneck, its own limit decides.
    const found = this.#loop.mayBeScarce ? undefined : this.#cohorts.contention(nowMs)
    if (found === undefined && !this.#isHeld) return
    if (found?.isSure) this.#limitContention(found, nowMs)
    else if (this.#isHeld) {
      if (nowMs >= this.#holdsUntil) this.#removeLimit()
    } else if (found !== undefined && found.serial > this.#suspected) this.#hold(found, nowMs)
    this.#updateFields()
  }

  #hold({ ageMs, most, serial }: Contention, nowMs: number): void {
    this.#reason = 'suspected'
    // Admits enough additional requests to show whether times rise again, even if quick requests use these permits too.
    this.#limit = Math.ceil(this.#tuning.apart * Math.max(this.#requests.inService, most)) + 1
    this.#holdsUntil = nowMs + Math.min(this.#tuning.promiseMs, Math.max(SHORTEST_HOLD_MS, 2 * ageMs))
    this.#suspected = serial
  }

  #removeLimit(): void {
    this.#reason = 'none'
    this.#limit = this.#tuning.max
  }

  #open(): void {
    this.#phase = 'open'
    this.#removeLimit()
    this.#requests.unlimited()
    this.#unsettled = false
    this.#cohorts.clear()
  }

  #limitContention({ aloneMs, knee, rate: since, sinceMs }: Contention, nowMs: number): void {
    const { recent } = this.#requests
    // `lately` may include a time before the load rose, in which fewer requests left than could have.
    const rate = Math.max(this.#rates.lately(nowMs), since)
    const needed = rate * this.#spanMs(aloneMs)
    if (recent <= needed) {
      this.#cohorts.clear()
      if (this.#isHeld) this.#removeLimit()
      return
    }
    this.#reason = 'contention'
    const limit = Math.max(needed, Math.min(this.#tuning.firstShare * recent, knee))
    this.#set(limit, rate, aloneMs, nowMs, sinceMs)
    this.#enterPhase('measure', this.#limit, nowMs)
  }

  /**
   * True if answers came steadily and have stopped, while more requests are in service than usually leave within
   * `promiseMs`. At least half of these must have arrived since the last answer: earlier ones may stay for another
   * reason. after-halt.ts finds out later whether the dependency had only become slow.
   */
  #hasHalted(nowMs: number): boolean {
    const { promiseMs, starvedOf } = this.#tuning
    const { usual } = this.#rates
    const silentMs = nowMs - this.#answeredAt
    if (silentMs < Math.max(HALT_MS, HALT_SERVICES * this.#meanMs) || silentMs * usual < starvedOf) return false
    const { inService } = this.#requests
    return inService >= Math.max(HALT_OF, usual * promiseMs) && 2 * this.#requests.since(this.#answeredAt) >= inService
  }

  #limitHalted(nowMs: number): void {
    const rate = this.#rates.usual
    this.#reason = 'halt'
    this.#afterHalt.begin(nowMs, rate, this.#rates.usualOfAll, this.#meanMs, this.#later)
    const limit = Math.max(this.#tuning.fewest, rate * this.#spanMs(this.#meanMs))
    this.#set(limit, rate, this.#meanMs, nowMs, this.#answeredAt)
    this.#enterRest(this.#limit, nowMs, this.#trialDueAt)
    this.#updateFields()
  }

  /** By Little's law the limit is throughput times this, ms. */
  #spanMs(aloneMs: number): number {
    const { workMs } = this.#tuning
    return Math.max(workMs, aloneMs + Math.min(aloneMs, workMs))
  }

  #set(limit: number, rate: number, aloneMs: number, nowMs: number, sinceMs: number): void {
    const { countedSpans, leastCountedMs, promiseMs } = this.#tuning
    if (!this.#waits) this.#unboundAt = nowMs
    this.#rate = rate
    this.#aloneMs = aloneMs
    this.#limit = limit
    this.#requests.limited(sinceMs, Math.max(leastCountedMs, countedSpans * this.#spanMs(aloneMs)), promiseMs)
    this.#isFirstTrial = true
    this.#heavyMs = 0
    this.#countedThen = this.#requests.inService - this.#requests.uncounted
    this.#before = this.#countedThen
    this.#drained.restart()
    this.#boundAt = nowMs
    this.#starvation.begin(nowMs)
  }

  #lookWhetherStarved(nowMs: number): void {
    const usual = this.#phase === 'open' ? this.#rates.usual : this.#rate
    const judged = this.#starvation.judge(nowMs, this.#waits, usual, this.#spanMs(this.#aloneMs))
    if (judged === 'fed') this.#starvation.fed(this.#counts, this.#unsettled)
    else if (judged === 'starved') this.#rate = this.#starvation.starved(nowMs, this.#rate, this.#counts, this.#above)
  }

  /**
   * If the requests waited for each other, they would leave about as fast as before. If they leave at less than
   * NO_QUEUE of that rate, for a second or until those that stay are no longer counted, they wait for something else.
   */
  #isNoQueue(sinceMs: number, isOver: boolean): boolean {
    const { promiseMs, starvedOf } = this.#tuning
    const left = this.#drained.all
    const usually = this.#rate * sinceMs
    if (left >= NO_QUEUE * usually) return false
    if (isOver) return left < DRAINS * (this.#countedThen - this.#limit)
    return usually >= starvedOf && sinceMs >= Math.max(promiseMs, 2 * this.#spanMs(this.#aloneMs))
  }

  #measure(nowMs: number, startedAt: number, workMs: number): void {
    if (this.#unsettled && startedAt <= this.#changedAt) this.#old.add(workMs)
    if (!this.#settled(nowMs)) return
    if (!this.#measurement.suffices(this.#spanMs(this.#aloneMs))) return
    if (this.#measurement.isBound) {
      this.#boundAt = nowMs
      this.#learn(nowMs)
    } else if (nowMs - this.#boundAt > this.#tuning.forgetMs) this.#open()
    else this.#measurement.begin(nowMs)
  }

  #learn(nowMs: number): void {
    const { heavyMs, rate } = this.#measurement
    this.#measurement.begin(nowMs)
    if (this.#phase === 'measure') this.#learnFirst(rate, heavyMs, nowMs)
    else if (this.#phase === 'lower') this.#learnLower(rate, heavyMs, nowMs)
    else this.#learnAtRest(rate, heavyMs, nowMs)
  }

  #learnFirst(rate: number, heavyMs: number, nowMs: number): void {
    const { grows, promiseMs } = this.#tuning
    const limit = this.#limit
    // If throughput fell with the limit, nothing was scarce. Threshold: the geometric mean of such a fall and none.
    const fell = rate < this.#rate * Math.sqrt(limit / this.#countedThen)
    // By Little's law requests that wait for something scarce take longer under a higher limit.
    const takesLonger = this.#heavyMs > 0 && heavyMs > this.#heavyMs * Math.sqrt(grows)
    if (!fell) this.#rate = rate
    if (!fell || takesLonger) {
      this.#enterRest(limit, nowMs, nowMs + promiseMs)
      return
    }
    this.#heavyMs = heavyMs
    if (grows * limit >= this.#countedThen) this.#open()
    else this.#limit = Math.round(grows * limit)
  }

  #learnLower(rate: number, heavyMs: number, nowMs: number): void {
    const { fell, grows, workMs } = this.#tuning
    this.#rate = Math.max(this.#rate, rate)
    const stays = rate >= fell * this.#rate
    this.#aloneMs = stays ? Math.min(this.#aloneMs, heavyMs) : heavyMs
    const knee = (this.#limit * this.#rate) / rate
    if (stays) this.#enterRest(this.#limit, nowMs)
    // Throughput fell with the limit, so nothing was scarce under the previous limit.
    else if (knee >= fell * this.#before) this.#enterRest(grows * this.#before, nowMs)
    else this.#enterRest(knee + Math.min(knee, this.#rate * workMs), nowMs)
  }

  #learnAtRest(rate: number, heavyMs: number, nowMs: number): void {
    const { raised, starved, workMs } = this.#tuning
    if (rate > starved * this.#rate) this.#rate += (rate - this.#rate) * RATE_WEIGHT
    this.#measured++
    const needed = this.#rate * this.#spanMs(this.#aloneMs)
    if (this.#measured >= MEASUREMENTS_BEFORE_RAISE && needed > raised * this.#limit)
      this.#enterRest(needed, nowMs, this.#trialDueAt)
    // A limit of 1 cannot be halved, and shows no waits: only a limit of 2 shows whether 1 is enough.
    else if (this.#limit === 1 && nowMs >= this.#trialDueAt) this.#enterRest(2, nowMs)
    else if (nowMs >= this.#trialDueAt && (this.#isFirstTrial || heavyMs - this.#aloneMs > LATE_WORKS * workMs)) {
      this.#tryLower(nowMs)
    }
  }

  #tryLower(nowMs: number): void {
    const next = Math.max(this.#rate * this.#tuning.workMs, Math.round(this.#limit / 2))
    if (next >= this.#limit - 0.5) this.#enterRest(next, nowMs)
    else {
      this.#before = this.#limit
      this.#isFirstTrial = false
      this.#enterPhase('lower', next, nowMs)
    }
  }

  #enterRest(limit: number, nowMs: number, trialDueAt: number = nowMs + this.#tuning.lookMs): void {
    this.#measured = 0
    this.#trialDueAt = trialDueAt
    this.#enterPhase('rest', limit, nowMs)
  }

  #enterPhase(phase: Phase, limit: number, nowMs: number): void {
    this.#phase = phase
    this.#limit = Math.min(this.#tuning.max, Math.max(1, Math.round(limit)))
    this.#unsettled = true
    this.#changedAt = nowMs
  }

  /** True if the requests admitted under the previous limit have left. */
  #settled(nowMs: number): boolean {
    if (!this.#unsettled) return true
    const { promiseMs } = this.#tuning
    const sinceMs = nowMs - this.#changedAt
    const drains = this.#counted > this.#limit
    const isOver = !drains && sinceMs >= Math.min(this.#meanMs, promiseMs)
    if (this.#phase === 'measure' && this.#isNoQueue(sinceMs, isOver)) {
      // A dependency may also have become far slower, so a limit remains.
      this.#enterRest(this.#tuning.apart * this.#countedThen, nowMs, nowMs + promiseMs)
      return false
    }
    if (this.#reason === 'halt' && this.#afterHalt.returnedAtOnce(nowMs, this.#drained.all, this.#countedThen)) {
      this.#open()
      return false
    }
    // A lower limit under which no request starts for `promiseMs` costs more than it can teach.
    if (drains && this.#phase === 'lower' && sinceMs > promiseMs) this.#enterRest(this.#before, nowMs)
    if (!isOver || (this.#reason === 'halt' && !this.#isOverHalt(nowMs))) return false
    this.#unsettled = false
    if (this.#phase === 'measure') this.#limitByDrain(sinceMs)
    this.#measurement.begin(nowMs)
    return true
  }

  /** Number of answers so far, without those to requests that were in service when a limit was set. */
  get #later(): number {
    return this.#answered.all - this.#old.all
  }

  /** True if requests leave as before the halt. Removes the limit if the dependency has only become slower. */
  #isOverHalt(nowMs: number): boolean {
    const found = this.#afterHalt.judge(nowMs, this.#requests.before, this.#limit, this.#later)
    if (found === 'slower' && this.#waits) this.#open()
    return found === 'as before'
  }

  /** While more were in service than the limit, requests left at the maximum rate. */
  #limitByDrain(drainedMs: number): void {
    if (this.#drained.all < this.#tuning.samples || drainedMs < 2 * this.#aloneMs) return
    this.#rate = this.#drained.count / drainedMs
    const needed = Math.min(this.#rate * this.#spanMs(this.#aloneMs), this.#tuning.firstShare * this.#countedThen)
    this.#limit = Math.max(this.#limit, Math.round(needed))
  }

  #pass(nowMs: number): void {
    this.#requests.advance(nowMs)
    if (this.#phase !== 'open') this.#measurement.pass(nowMs, this.#waits)
  }
}
