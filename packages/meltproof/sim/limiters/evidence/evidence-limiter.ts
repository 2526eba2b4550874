/**
 * A limiter that limits nobody before it has evidence: a candidate for the one that ships, which begins at 16, knows
 * kinds by their paths and has some 60 constants more. Nothing here depends on paths, kinds or statuses.
 *
 * 1. **Open.** No limit, until cohorts (cohorts.ts) show that requests wait for each other. One rise holds the number in
 *    service where it is for as long as the suspicion took to show, twice; two rises in a row prove it.
 * 2. **Measure.** By Little's law a service of `rate` that takes `aloneMs` among few needs `rate * aloneMs` in service. The
 *    limit begins there, with some room. Where throughput falls in proportion to it, nothing was scarce: it opens again.
 * 3. **Rest.** Throughput is measured all the time. From time to time a higher limit is tried, and a lower one.
 *    Requests that were late when the evidence came are not counted: a limit cannot make them quicker.
 * 4. **Starved.** When far fewer leave than could while others wait, those who merely wait hold the places: the limit
 *    rises until they leave as before, or goes back when they do not.
 */
import type { Limiter } from '../../../src/admission/limiter/limiter.ts'
import { Measurement } from '../../../src/admission/limiter/measurement.ts'
import { Cohorts, NO_TICKET } from './cohorts.ts'
import { Recent } from './recent.ts'

const MOST = 10_000
/** An answer within this time is in time, ms. */
const PROMISE_MS = 1000
/** A limit that did not bind for this long is forgotten, ms. */
const FORGET_MS = 5000
/** Evidence is looked for no more often, ms. */
const JUDGE_MS = 5
/** Room above what a service needs in service, ms of its throughput; where the loop is busy its turns must stay short. */
const ROOM_MS = 150
const ROOM_LOOP_MS = 50
/** No limit is lower than this much work, ms. */
const WORK_MS = 100
const LOOP_BUSY = 0.9
/** The first limit is at most this share of those in service, or it would show nothing. */
const FIRST_SHARE = 0.6
/** Throughput that falls with this power of the limit falls in proportion. */
const IN_PROPORTION = 0.7
/** Throughput below this share: the limit is below the knee. */
const FELL = 0.85
const HIGHER = 1.5
/** A higher limit must bring this share of what it rose by. */
const BRINGS = 0.4
const LOOK_UP_MS = 2000
const LOOK_DOWN_MS = 16_000
/** Fewer than this share leave while others wait: starved. Looked at over this long, ms, and this many departures. */
const STARVED = 0.5
const STARVED_MS = 100
const STARVED_OF = 12
/** In this many mean times in service a pool that answers in volleys has answered. */
const STARVED_SERVICES = 2.5
const STARVED_RAISES = 3
/** Nobody answered for a second, and this many or more in service: the dependency has halted. */
const HALTED_FROM = 64
const LOWER_GIVEN_UP_MS = 1000

const MEASUREMENT = { samples: 24, busyWindowMs: 20, maxWindowMs: 1000 }

type Phase = 'open' | 'hold' | 'measure' | 'rest' | 'higher' | 'lower'

export class EvidenceLimiter implements Limiter {
  /** For the simulator: stragglers keep their permits, and a handler whose client left counts as answered when it ends. */
  readonly countsAll = true
  ticket = NO_TICKET
  readonly #busyMs: () => number
  readonly #cohorts = new Cohorts()
  readonly #recent = new Recent(PROMISE_MS)
  readonly #measurement = new Measurement(MEASUREMENT)
  #phase: Phase = 'open'
  #limit = MOST
  #inService = 0
  /** In service since before {@link #olderThan}, and not counted. */
  #older = 0
  #olderThan = 0
  #waits = false
  #unboundAt = Number.NEGATIVE_INFINITY
  /** Means of all, and of those in time, ms. */
  #meanMs = 0
  #inTimeMs = 0
  #answeredAt = 0
  #haltedAt = 0

  // Open.
  #judgedAt = 0
  #heldUntil = 0
  #heldFor = -1
  #answers = 0
  #countedAt = 0
  #usualRate = 0

  // Under a limit.
  #rate = 0
  #before = 0
  #countedThen = 0
  #unsettled = false
  #settlesAt = 0
  #lookAt = 0
  #lookedUp = false
  #left = 0
  #leftFrom = 0
  #raises = 0

  constructor(busyMs: () => number) {
    this.#busyMs = busyMs
  }

  get limit(): number {
    return Math.min(MOST, Math.max(1, Math.floor(this.#limit)) + this.#older)
  }

  get uncounted(): number {
    return this.#older
  }

  get phase(): Phase {
    return this.#phase
  }

  get known(): boolean {
    return this.#phase !== 'open' && this.#phase !== 'hold'
  }

  get searching(): boolean {
    return this.#phase === 'hold'
  }

  /** Let in before the limit fell: they leave before anybody who waits gets a place. */
  get excess(): number {
    return Math.max(0, this.#counted - this.#limit)
  }

  get #counted(): number {
    return this.#inService - this.#older
  }

  goesOn(nowMs: number): boolean {
    return nowMs - this.#answeredAt < Math.max(400, 2 * this.#meanMs)
  }

  admitted(nowMs: number): void {
    this.#pass(nowMs)
    if (this.#inService++ === 0) this.#answeredAt = nowMs
    this.#recent.add()
    this.ticket = NO_TICKET
    if (this.known) return
    this.#lookWhetherHalted(nowMs)
    this.ticket = this.#cohorts.admitted(nowMs, this.#recent.count)
  }

  completed(nowMs: number, serviceMs: number, _kind = 0, _inServiceThen = 0, ticket = NO_TICKET): void {
    this.#leaves(nowMs, serviceMs)
    this.#left++
    this.#cohorts.ended(ticket, serviceMs)
    const halted = nowMs - this.#answeredAt > Math.max(400, 4 * this.#meanMs)
    this.#answeredAt = nowMs
    this.#meanMs += (serviceMs - this.#meanMs) * (this.#meanMs === 0 ? 1 : 0.1)
    if (serviceMs <= PROMISE_MS) this.#inTimeMs += (serviceMs - this.#inTimeMs) * (this.#inTimeMs === 0 ? 1 : 0.1)
    this.#countUsual(nowMs)
    if (!this.known) {
      this.#judge(nowMs)
      return
    }
    if (halted) this.#take(this.#phase, this.#limit, nowMs)
    if (!this.#settled(nowMs) || !this.#waits) return
    this.#measurement.answered(serviceMs)
    if (this.#measurement.suffices) this.#learn(nowMs)
  }

  dropped(nowMs: number, serviceMs = 0, _kind = 0, ticket = NO_TICKET): void {
    this.#leaves(nowMs, serviceMs)
    this.#cohorts.dropped(ticket)
  }

  limitReached(nowMs: number): void {
    this.#pass(nowMs)
    this.#waits = true
    if (this.known && nowMs - this.#unboundAt > FORGET_MS) this.#opens()
  }

  limitCleared(nowMs: number): void {
    this.#pass(nowMs)
    this.#waits = false
    this.#raises = 0
    this.#unboundAt = nowMs
  }

  tick(nowMs: number): void {
    this.#pass(nowMs)
    if (!this.known) {
      this.#judge(nowMs)
      return
    }
    this.#settled(nowMs)
    this.#lookWhetherStarved(nowMs)
  }

  invalidated(nowMs: number): void {
    if (this.known) this.#measureFrom(nowMs)
  }

  #leaves(nowMs: number, serviceMs: number): void {
    this.#pass(nowMs)
    this.#inService--
    this.#recent.remove(nowMs - serviceMs)
    if (this.#older > 0 && nowMs - serviceMs < this.#olderThan) this.#older--
  }

  #judge(nowMs: number): void {
    if (nowMs - this.#judgedAt < JUDGE_MS) return
    this.#judgedAt = nowMs
    const found = this.#cohorts.contention(nowMs)
    if (found?.sure) {
      const busy = this.#measurement.busy >= LOOP_BUSY
      const needed = found.rate * (found.aloneMs + (busy ? ROOM_LOOP_MS : ROOM_MS))
      this.#limits('measure', Math.max(found.knee, needed), found.rate, nowMs)
    } else if (this.#phase === 'hold') {
      if (nowMs >= this.#heldUntil) this.#lets()
    } else if (found !== undefined && found.serial > this.#heldFor) {
      this.#phase = 'hold'
      this.#limit = Math.max(1, this.#inService)
      this.#heldUntil = nowMs + Math.max(20, 2 * found.ageMs)
      this.#heldFor = found.serial
    }
  }

  #lets(): void {
    this.#phase = 'open'
    this.#limit = MOST
  }

  #opens(): void {
    this.#lets()
    this.#older = 0
    this.#unsettled = false
    this.#cohorts.clear()
  }

  #limits(phase: Phase, limit: number, rate: number, nowMs: number): void {
    this.#older = this.#inService - this.#recent.count
    this.#olderThan = nowMs - PROMISE_MS
    this.#rate = rate
    this.#countedThen = this.#counted
    this.#limit = this.#counted
    if (!this.#waits) this.#unboundAt = nowMs
    this.#lookedUp = false
    this.#take(phase, Math.min(FIRST_SHARE * this.#counted, limit), nowMs)
  }

  /** Answers came every second, and now there are none, while half as many more came as that. */
  #lookWhetherHalted(nowMs: number): void {
    if (nowMs - this.#answeredAt < PROMISE_MS || this.#usualRate === 0) return
    const usual = this.#usualRate * PROMISE_MS
    if (this.#inService < Math.max(HALTED_FROM, usual)) return
    this.#haltedAt = nowMs
    this.#limits('lower', Math.max(HALTED_FROM, usual / 2), this.#usualRate, nowMs)
  }

  #countUsual(nowMs: number): void {
    this.#answers++
    const elapsedMs = nowMs - this.#countedAt
    if (elapsedMs < PROMISE_MS) return
    this.#usualRate = Math.max(this.#usualRate * 0.9, this.#answers / elapsedMs)
    this.#answers = 0
    this.#countedAt = nowMs
  }

  #lookWhetherStarved(nowMs: number): void {
    const elapsedMs = nowMs - this.#leftFrom
    const expected = elapsedMs * this.#rate
    const looks = !(this.#phase === 'measure' && this.#unsettled) && this.#waits && this.#answeredAt >= this.#haltedAt
    if (looks && (elapsedMs < Math.max(STARVED_MS, STARVED_SERVICES * this.#inTimeMs) || expected < STARVED_OF)) return
    const starved = looks && this.#left < STARVED * expected
    this.#left = 0
    this.#leftFrom = nowMs
    if (!starved) {
      this.#raises = 0
      return
    }
    if (this.#phase === 'lower' && this.#raises === 0 && this.#counted >= this.#limit) {
      this.#rests(this.#before, nowMs)
      return
    }
    if (this.#raises++ === 0) this.#countedThen = this.#limit
    if (this.#raises <= STARVED_RAISES) this.#limit = Math.min(MOST, this.#limit * HIGHER)
    else {
      this.#raises = 0
      this.#limit = this.#countedThen
      this.#rate /= 2
    }
    this.#measureFrom(nowMs)
  }

  #learn(nowMs: number): void {
    const { busy, rate } = this.#measurement
    this.#measureFrom(nowMs)
    const limit = this.#limit
    const floor = Math.max(this.#rate, rate) * (busy >= LOOP_BUSY ? ROOM_LOOP_MS : WORK_MS)
    switch (this.#phase) {
      case 'measure':
        if (rate / this.#rate < (limit / this.#countedThen) ** IN_PROPORTION) this.#opens()
        else {
          this.#rate = rate
          if (busy >= LOOP_BUSY) this.#lower(floor, nowMs)
          else this.#rests(limit, nowMs)
        }
        return
      case 'lower': {
        this.#rate = Math.max(this.#rate, rate)
        if (rate >= FELL * this.#rate) this.#lower(floor, nowMs)
        else {
          const knee = (limit * this.#rate) / rate
          this.#rests(Math.max(floor, knee + Math.min(knee, this.#rate * WORK_MS)), nowMs)
        }
        return
      }
      case 'higher': {
        const brings = rate > this.#rate * (1 + BRINGS * (limit / this.#before - 1))
        this.#rate = Math.max(this.#rate, rate)
        if (brings) this.#take('higher', limit * HIGHER, nowMs)
        else this.#rests(this.#before, nowMs)
        return
      }
      default:
        this.#rate += (rate - this.#rate) * 0.2
        if (this.#rate * WORK_MS > 1.25 * limit && busy < LOOP_BUSY) this.#rests(this.#rate * WORK_MS, nowMs)
        else if (nowMs >= this.#lookAt) this.#looks(floor, nowMs)
    }
  }

  #looks(floor: number, nowMs: number): void {
    this.#lookedUp = !this.#lookedUp
    if (this.#lookedUp) this.#take('higher', this.#limit * HIGHER, nowMs)
    else this.#lower(floor, nowMs)
  }

  #lower(floor: number, nowMs: number): void {
    const next = Math.max(floor, this.#limit / 2)
    if (next < this.#limit - 0.5) this.#take('lower', next, nowMs)
    else this.#rests(Math.max(next, this.#limit), nowMs)
  }

  #rests(limit: number, nowMs: number): void {
    this.#take('rest', limit, nowMs)
    this.#lookAt = nowMs + (this.#lookedUp ? LOOK_DOWN_MS : LOOK_UP_MS)
  }

  #take(phase: Phase, limit: number, nowMs: number): void {
    if (limit !== this.#limit) this.#before = this.#limit
    this.#phase = phase
    this.#limit = Math.min(MOST, Math.max(1, Math.round(limit)))
    this.#unsettled = true
    this.#settlesAt = nowMs + Math.min(this.#meanMs, PROMISE_MS)
  }

  /** Whether those admitted under the limit before have left. */
  #settled(nowMs: number): boolean {
    if (!this.#unsettled) return true
    const above = this.#counted > this.#limit
    if (above && this.#phase === 'lower' && nowMs - this.#settlesAt > LOWER_GIVEN_UP_MS)
      this.#rests(this.#before, nowMs)
    if (above || nowMs < this.#settlesAt) return false
    this.#unsettled = false
    this.#measureFrom(nowMs)
    return true
  }

  #pass(nowMs: number): void {
    this.#recent.advance(nowMs)
    this.#measurement.pass(nowMs, this.#busyMs(), this.#waits || !this.known)
  }

  #measureFrom(nowMs: number): void {
    this.#pass(nowMs)
    this.#measurement.begin()
  }
}
