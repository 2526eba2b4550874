/**
 * The limit law: find the knee of the throughput curve, and stay a little above it.
 *
 * X(L), the throughput with L requests in service, rises in proportion to L as long as they do not stand in each
 * other's way, and is flat once the scarce thing behind them (a core, a pool, a disk) is busy all the time. Where the
 * two lines meet is the knee K = X_max * B, B being the service time without queueing (Kleinrock's optimal operating
 * point; BBR's bandwidth-delay product, Cardwell et al., ACM Queue 2016). Below K throughput is lost, above it only
 * latency is gained.
 *
 * The law learns K from nothing but X at different L, and only while the limit binds: an idle service teaches nothing
 * about its limit, and a baseline latency learned long ago can drift or lie when the mix of routes changes. Because a
 * queue stands in front, lowering L for a moment to look costs little throughput and sheds nobody.
 *
 * - grow: the loop is idle and service does not get slower: one more with every completion, which doubles L in each
 *   service time (TCP's slow start; leaving it when delay rises is HyStart, Ha & Rhee 2008). It ends as well when those
 *   in service are seen to wait for each other (crowding.ts).
 * - descend: X does not fall when L is halved: halve again. Where it falls, K is known.
 * - steady: stay somewhat above K; look below from time to time, above whenever the limit starts to bind, and at once when
 *   X changes or the limit is not worth 100 ms of service any more.
 */
import { Crowding } from './crowding.ts'
import { KNEE_TUNING, type KneeTuning } from './knee-tuning.ts'
import type { LimitLaw } from './limit.ts'
import { Measurement } from './measurement.ts'

/** A limit larger than its floor by more than this factor is looked at again. */
const MUCH = 1.5
/** A knee no further below where a look began: throughput is in proportion to the limit, and nothing was scarce. */
const PROPORTION = 0.8
/** A floor larger than the limit by more than this factor raises it. */
const RAISED = 1.25
/** After so many measurements in a row the steady rate is believed to be higher than the limit is worth. */
const SURE = 5
/** After so many it is what a look above is compared with. */
const USUAL = 3
/** Once after each search the law looks so much above the limit it has settled at. */
const UP = 1.5
/** Throughput that rises by this factor then was held by the limit. */
const MORE = 1.25
/** What a lower limit does to throughput is known after so many services: those who came before it must be gone. */
const PROOF = 3
/** A search starts so many times above where service times say that they begin to wait for each other. */
const CROWDED = 1.5

/** Whoever leaves within this share of the time in which they came has been held. */
const HELD = 0.5
/** Of those who came within less, nothing is known, ms. */
const LEAST_SPREAD_MS = 2

/** A measurement is begun anew at most so many times. */
const MOST_DISTURBANCES = 3

type Phase = 'grow' | 'top' | 'descend' | 'steady' | 'look-down' | 'look-up'

export class KneeLaw implements LimitLaw {
  readonly #tuning: KneeTuning
  /** Cumulative milliseconds the loop was busy; the law uses differences only. */
  readonly #busyMs: () => number
  #limit: number
  #phase: Phase = 'grow'
  #bound = false
  #unboundAt = Number.NEGATIVE_INFINITY
  /** 0 before it was learned. */
  #knee = 0
  /** Throughput as last measured, per ms. */
  #rate = 0
  /** What was scarce in the last measurement is the loop. */
  #loopBinds = false
  /** The knee is somewhere at or below the floor; nobody looked further. */
  #belowFloor = false
  /** The loop was scarce when the knee was found. */
  #kneeOfLoop = false
  /** A look was given up, and the limit lowered all the same: from where, at what throughput, and until when that is seen. */
  #unproven: { readonly limit: number; readonly rate: number; readonly until: number } | undefined
  /** The throughput, per ms, that a lower limit is compared with. */
  #referenceRate = 0
  #referenceLimit = 0
  #steadyRate = 0
  /** Measurements it is made of. */
  #steadyCount = 0
  /** Measurements in a row that differ from the steady rate. */
  #changes = 0
  #lookAt = 0
  /** After a search: a look above what it has found is still to come. */
  #looksUp = false
  /** When a measurement was last finished. */
  #learnedAt = 0
  /** The last one was of all the time, by work: what it is compared with must be, too. */
  #byLoop = false
  /** How long the next look waits. */
  #trustMs = 0
  #meanServiceMs = 0
  /** Of the squares of service times, ms squared. */
  #meanSquareMs = 0

  #inflight = 0
  /** Time spent in service by all there are together, since the batch began. */
  #inflightMs = 0
  #inflightSince = 0
  /** The times at which those in service started, added up. */
  #startsMs = 0

  // The measurement under way, once service has settled under a changed limit: who completed while the limit bound, and
  // for how long it did. Stretches in which it does not bind say nothing about the limit.
  #settling = false
  /** Measurements begun anew since the last that was finished. */
  #disturbances = 0
  #changedAt = 0
  #checkedAt = 0
  #inflightAtCheck = 0
  readonly #whileBound = new Measurement()
  /** The same, whether the limit bound or not. */
  readonly #whole = new Measurement()
  /** Up to when both are counted, and what busy time and age were then. */
  #countedUntil = 0
  #busyThen = 0
  #ageThen = 0
  /** Since when they measure. */
  #openedAt = 0

  /** Somebody has left since the last look at {@link KneeTuning.outlastMs}. */
  #someLeft = true
  #quietSince = 0
  #busyAtQuiet = 0
  /** When the limit was last raised without completions, and up to where; 0 when somebody has been answered since. */
  #raisedAt = 0
  #raisedMost = 0
  /** The same, but 0 once it is known whether those who were there had been held. */
  #haltedAt = 0
  /** Of those who leave after a halt: how many, when the first of them left, and when the first and the last came. */
  readonly #held = { count: 0, leftAt: 0, first: 0, last: 0 }

  // Growth.
  /** The search under way began because they wait for each other: those above its limit are worth waiting for. */
  #crowded = false
  readonly #crowding = new Crowding()
  /** The limit and mean service time that growth is judged by; 0 before it was measured. */
  #growthBase = { limit: 0, serviceMs: 0, variance: 0 }
  /** Service times of those who completed lately. */
  readonly #batch = { count: 0, sum: 0, squares: 0 }
  #batchSince = 0
  #busyAtBatch = 0
  /** The limit under which those who complete now were admitted. */
  #limitOfBatch: number
  #loopBusy = true
  #busyStreak = 0
  #loopJudgedAt = 0
  #busyAtJudgement = 0

  constructor(busyMs: () => number, tuning: KneeTuning = KNEE_TUNING) {
    this.#busyMs = busyMs
    this.#tuning = tuning
    this.#limit = tuning.initial
    this.#limitOfBatch = tuning.initial
    this.#growthBase = { limit: tuning.initial, serviceMs: 0, variance: 0 }
  }

  get limit(): number {
    return this.#limit
  }

  /** The knee as last learned; 0 before. */
  get knee(): number {
    return this.#knee
  }

  get phase(): string {
    return this.#phase
  }

  get searching(): boolean {
    return this.#phase === 'grow' && this.#bound && this.#busyStreak < this.#tuning.busyToStand
  }

  admitted(nowMs: number): void {
    this.#countInflight(nowMs)
    this.#inflight++
    this.#startsMs += nowMs
    if (this.#phase === 'grow') this.#crowding.admitted(nowMs, this.#inflight)
  }

  #countInflight(nowMs: number): void {
    this.#inflightMs += this.#inflight * (nowMs - this.#inflightSince)
    this.#inflightSince = nowMs
  }

  completed(nowMs: number, serviceMs: number): void {
    this.#countInflight(nowMs)
    this.#leave(nowMs - serviceMs)
    if (nowMs - serviceMs > this.#raisedAt) this.#raisedAt = 0
    // Cheap ones among heavy ones come and go without keeping anybody waiting. How many there are is the mix, and says
    // nothing about the limit; and a service that takes no longer than this under the limit it has needs no lower one.
    if (serviceMs < this.#tuning.tooShortMs && this.#phase !== 'grow') {
      // But it may do with a higher one, when all of it has become so quick.
      if (this.#bound && nowMs - this.#learnedAt > this.#tuning.lookEveryMs) this.#beginGrowth(nowMs)
      return
    }
    const share = this.#meanServiceMs === 0 ? 1 : 0.1
    this.#meanServiceMs += (serviceMs - this.#meanServiceMs) * share
    this.#meanSquareMs += (serviceMs * serviceMs - this.#meanSquareMs) * share
    if (this.#phase === 'grow') {
      // When those leave that a halt has held, too many are in service.
      if (this.#haltedAt > 0 && this.#wasHeld(nowMs, serviceMs)) this.#search(this.#limit, nowMs)
      else this.#grow(nowMs, serviceMs)
      return
    }
    if (this.#settling) {
      if (this.#bound) this.#settled(nowMs)
      return
    }
    this.#whole.count(serviceMs)
    if (!this.#bound) return
    this.#countUntil(nowMs)
    this.#whileBound.count(serviceMs)
    const { alike, loopBusy } = this.#tuning
    // A loop that never rests is what binds, also in the moments in which the limit does not.
    const looking = this.#phase === 'descend' || this.#phase === 'look-down'
    if (looking ? this.#byLoop : this.#whole.busy >= loopBusy) {
      if (!this.#suffices(this.#whole, Math.max(this.#whole.typicalMs, this.#meanServiceMs))) return
      this.#setByLoop(true)
      this.#learn(nowMs, this.#whole.rateByWork(alike, this.#limit), this.#whole.busy)
    } else {
      if (!this.#suffices(this.#whileBound, this.#meanServiceMs)) return
      this.#setByLoop(false)
      this.#learn(nowMs, this.#whileBound.rate(alike, this.#limit), this.#whileBound.busy)
    }
  }

  /**
   * Whether those who leave after growth without completions were held by something that has ended: then they leave in a
   * shorter time than they came in. Who merely takes long leaves as it came.
   */
  #wasHeld(nowMs: number, serviceMs: number): boolean {
    const startedMs = nowMs - serviceMs
    const held = this.#held
    if (startedMs > this.#haltedAt) return false
    if (held.count === 0) held.leftAt = nowMs
    held.first = held.count === 0 ? startedMs : Math.min(held.first, startedMs)
    held.last = held.count === 0 ? startedMs : Math.max(held.last, startedMs)
    if (++held.count < this.#tuning.growthBatch) return false
    held.count = 0
    const cameIn = held.last - held.first
    if (cameIn >= LEAST_SPREAD_MS && nowMs - held.leftAt < HELD * cameIn) return true
    this.#haltedAt = 0
    return false
  }

  /** Rates of the two ways to measure are not compared with each other. */
  #setByLoop(byLoop: boolean): void {
    if (byLoop !== this.#byLoop && this.#phase === 'steady') {
      this.#steadyRate = 0
      this.#changes = 0
    }
    this.#byLoop = byLoop
  }

  deserted(nowMs: number, serviceMs?: number): void {
    this.#countInflight(nowMs)
    this.#countUntil(nowMs)
    // Where nobody knows who it was: one of usual age.
    const startedMs = serviceMs === undefined ? this.#startsMs / this.#inflight : nowMs - serviceMs
    this.#leave(startedMs)
    // Its age goes with it; that of before this measurement was never in it.
    this.#ageThen -= Math.max(0, this.#openedAt - startedMs)
  }

  #leave(startedMs: number): void {
    this.#inflight--
    this.#someLeft = true
    this.#startsMs = this.#inflight === 0 ? 0 : this.#startsMs - startedMs
  }

  bound(nowMs: number): void {
    this.#countUntil(nowMs)
    this.#bound = true
    this.#quietFrom(nowMs)
    // What was measured before a long quiet may be another traffic's.
    if (nowMs - this.#unboundAt > this.#tuning.maxWindowMs) this.#openWindow(nowMs)
    if (nowMs - this.#unboundAt < this.#tuning.forgetMs) return
    // Not below those who are in service: if they take long, nobody would be let in for as long.
    if (this.#knee > 0) this.#limit = Math.max(this.#steadyLimit(), Math.min(this.#limit, this.#inflight))
    this.#beginGrowth(nowMs)
  }

  tick(nowMs: number): void {
    if (!this.#bound) return
    if (this.#phase !== 'grow') this.#settled(nowMs)
    this.#outlast(nowMs)
  }

  /** Growth without completions, while nobody leaves and the loop rests. */
  #outlast(nowMs: number): void {
    const quietMs = nowMs - this.#quietSince
    if (this.#someLeft) {
      if (quietMs >= this.#tuning.busyWindowMs) this.#quietFrom(nowMs)
      return
    }
    const { outlastMs, outlastBy, outlastMost, haltMs, haltBy, haltMost, loopBusy, max } = this.#tuning
    const known = this.#meanServiceMs > 0
    if (quietMs < (known ? Math.max(haltMs, 2 * this.#meanServiceMs) : outlastMs)) return
    const rested = this.#busyMs() - this.#busyAtQuiet < loopBusy * quietMs
    this.#quietFrom(nowMs)
    if (!rested) return
    const there = Math.max(this.#limit, this.#inflight)
    if (this.#raisedAt === 0) this.#raisedMost = Math.min(max, known ? there * haltMost : Math.max(there, outlastMost))
    this.#raisedAt = nowMs
    this.#limit = Math.max(this.#limit, Math.min(this.#raisedMost, Math.ceil(there * (known ? haltBy : outlastBy))))
    this.#haltedAt = nowMs
    this.#held.count = 0
    // Whoever completes next was admitted under this limit: what comes is judged from here on.
    this.#beginGrowth(nowMs)
  }

  #quietFrom(nowMs: number): void {
    this.#someLeft = false
    this.#quietSince = nowMs
    this.#busyAtQuiet = this.#busyMs()
  }

  unbound(nowMs: number): void {
    this.#countUntil(nowMs)
    this.#bound = false
    this.#unboundAt = nowMs
  }

  disturbed(nowMs: number): void {
    // A loop that never turns in time would never be measured at all.
    if (this.#bound && this.#disturbances++ < MOST_DISTURBANCES) this.#openWindow(nowMs)
  }

  /** The time since the last call is measured, as what it was. */
  #countUntil(nowMs: number): void {
    const busyMs = this.#busyMs()
    const ageMs = this.#ageMs(nowMs)
    const passed = [nowMs - this.#countedUntil, busyMs - this.#busyThen, ageMs - this.#ageThen] as const
    this.#whole.pass(...passed)
    if (this.#bound) this.#whileBound.pass(...passed)
    this.#countedUntil = nowMs
    this.#busyThen = busyMs
    this.#ageThen = ageMs
  }

  /** For how long those in service have been, together. */
  #ageMs(nowMs: number): number {
    return this.#inflight * nowMs - this.#startsMs
  }

  #openWindow(nowMs: number): void {
    this.#countUntil(nowMs)
    this.#openedAt = nowMs
    this.#whileBound.clear()
    this.#whole.clear()
  }

  /** Whether so many over so long are enough to compare throughputs. */
  #suffices({ completed, overMs }: Measurement, serviceMs: number): boolean {
    const { samples, minWindowMs, maxWindowMs } = this.#tuning
    // Requests that share a pool leave in volleys, one a service time: whole ones must fit in.
    if (overMs < Math.max(minWindowMs, Math.min(3 * serviceMs, maxWindowMs))) return false
    return completed >= samples || overMs >= Math.max(maxWindowMs, 4 * this.#meanServiceMs)
  }

  #steadyLimit(): number {
    const { headroom, max } = this.#tuning
    const twice = this.#knee * (headroom - 1)
    const above = this.#loopBinds ? twice : Math.min(twice, Math.max(1, this.#floor(), Math.sqrt(this.#knee)))
    return Math.min(max, Math.max(this.#floor(), Math.ceil(this.#knee + above)))
  }

  /** Changes the limit and measures once service has settled under it. */
  #measureAt(limit: number, phase: Phase, nowMs: number): void {
    this.#crowded = false
    this.#phase = phase
    this.#limit = Math.max(1, Math.min(this.#tuning.max, Math.round(limit)))
    this.#changedAt = nowMs
    this.#checkedAt = nowMs
    this.#inflightAtCheck = this.#inflight
    this.#settling = true
  }

  /**
   * True once those admitted under the old limit have left, so that what is measured belongs to the new one. Where a
   * lower limit means that nobody is admitted for long (some requests take many seconds), looking costs more than it
   * can teach: back up again.
   */
  #settled(nowMs: number): boolean {
    if (!this.#settling) return true
    const since = nowMs - this.#changedAt
    if (this.#inflight > this.#limit) {
      if (nowMs - this.#checkedAt < this.#tuning.patienceMs) return false
      const left = this.#inflightAtCheck - this.#inflight
      const enough = left >= this.#tuning.leaving * (this.#inflightAtCheck - this.#limit)
      this.#checkedAt = nowMs
      this.#inflightAtCheck = this.#inflight
      if (enough || this.#phase === 'steady' || this.#crowded) return false
      this.#giveUpLooking(nowMs)
      return false
    } else if (since < this.#settlesMs()) return false
    this.#settling = false
    this.#openWindow(nowMs)
    return true
  }

  /**
   * Back to where the look began; or, where service takes so long that the limit is not twice the knee, part of the way: a
   * queue behind few slow connections looks the same from here. Whether throughput stands that will be seen.
   */
  #giveUpLooking(nowMs: number): void {
    const known = this.#phase === 'top' ? 0 : this.#referenceRate
    const limit = this.#referenceLimit
    this.#belowFloor = false
    this.#settleAt(limit / this.#tuning.headroom, nowMs, nowMs + this.#tuning.lookEveryMs)
    if (this.#limit >= limit) return
    if (known === 0) this.#limit = limit
    else this.#unproven = { limit, rate: known, until: nowMs + PROOF * this.#meanServiceMs }
  }

  /** Whether throughput has fallen since the limit was lowered unseen; then that is undone. */
  #provesLow(nowMs: number, rate: number): boolean {
    const unproven = this.#unproven
    if (unproven === undefined || nowMs < unproven.until) return false
    this.#unproven = undefined
    const { fell, headroom, lookEveryMs, mostTrust } = this.#tuning
    if (rate >= fell * unproven.rate) return false
    this.#settleAt(unproven.limit / headroom, nowMs, nowMs + lookEveryMs * mostTrust)
    this.#limit = unproven.limit
    return true
  }

  /**
   * How long those who are in service at some moment take. The slow ones are few among those who come, but many among
   * those who are there, and leave last: too early, they would count as throughput of the lower limit.
   */
  #settlesMs(): number {
    return Math.min(this.#meanSquareMs / this.#meanServiceMs, this.#tuning.maxWindowMs)
  }

  /** A look has found the knee. The more often it finds the same, the longer it is trusted. */
  #found(knee: number, nowMs: number): void {
    const same = this.#knee > 0 && Math.abs(Math.log(knee / this.#knee)) < this.#tuning.sameKnee
    this.#trustMs = same
      ? Math.min(this.#trustMs * 2, this.#tuning.lookEveryMs * this.#tuning.mostTrust)
      : this.#tuning.lookEveryMs
    this.#settleAt(knee, nowMs, nowMs + this.#trustMs)
  }

  /** Looks further down, as far as there is anything to gain. */
  #descend(nowMs: number): void {
    // Where the loop binds, the floor is where to be, however far down; elsewhere only looking finds the knee.
    const lower = this.#loopBinds ? this.#lowest() : Math.max(this.#limit / 2, this.#lowest())
    if (Math.round(lower) < this.#limit) {
      this.#measureAt(lower, 'descend', nowMs)
      return
    }
    this.#belowFloor = true
    this.#found(this.#leastKnee(), nowMs)
  }

  /** A lower limit gains nothing. */
  #floor(): number {
    return this.#worth(this.#rate)
  }

  /** The limit that is so much work at this throughput: {@link KneeTuning.workMs}, {@link KneeTuning.workElsewhereMs}. */
  #worth(rate: number): number {
    return Math.round(rate * (this.#loopBinds ? this.#tuning.workMs : this.#tuning.workElsewhereMs))
  }

  /** No lower knee makes the limit any lower. */
  #leastKnee(): number {
    return this.#floor() / this.#tuning.headroom
  }

  /** No lower limit is worth a look. */
  #lowest(): number {
    return this.#loopBinds ? this.#floor() : this.#leastKnee()
  }

  #settleAt(knee: number, nowMs: number, lookAt: number): void {
    this.#unproven = undefined
    this.#knee = Math.max(1, knee)
    this.#kneeOfLoop = this.#loopBinds
    this.#steadyRate = 0
    this.#steadyCount = 0
    this.#changes = 0
    this.#lookAt = lookAt
    this.#measureAt(this.#steadyLimit(), 'steady', nowMs)
  }

  #beginGrowth(nowMs: number): void {
    this.#learnedAt = nowMs
    this.#unproven = undefined
    // Of another time; but those who came before the limit began to bind tell what it takes without a queue.
    if (this.#phase !== 'grow') this.#crowding.clear()
    this.#phase = 'grow'
    this.#settling = false
    this.#growthBase = { limit: this.#limit, serviceMs: 0, variance: 0 }
    this.#loopBusy = true // until shown otherwise
    this.#busyStreak = 0
    this.#loopJudgedAt = nowMs
    this.#busyAtJudgement = this.#busyMs()
    this.#beginBatch(nowMs)
  }

  /** Whether the loop had no time left, over the last stretch long enough to tell. */
  #judgeLoop(nowMs: number): void {
    const elapsed = nowMs - this.#loopJudgedAt
    if (elapsed < this.#tuning.busyWindowMs) return
    const busyMs = this.#busyMs()
    this.#loopBusy = busyMs - this.#busyAtJudgement >= this.#tuning.loopBusy * elapsed
    this.#busyStreak = this.#loopBusy ? this.#busyStreak + 1 : 0
    this.#loopJudgedAt = nowMs
    this.#busyAtJudgement = busyMs
    if (!this.#bound) return
    // Many in service take long to leave and to come back: a short burst of work is no reason to send them away.
    if (
      this.#busyStreak < (this.#limit <= this.#tuning.searchAtOnce ? this.#tuning.busyToStand : this.#tuning.busyStreak)
    )
      return
    this.#loopBinds = true
    if (this.#knee > 0) this.#settleAt(this.#knee, nowMs, this.#lookAt)
    else this.#search(this.#limit, nowMs)
  }

  /** Looks for the knee from a limit downwards. */
  #search(from: number, nowMs: number): void {
    this.#haltedAt = 0
    this.#crowding.clear()
    this.#looksUp = true
    this.#referenceLimit = this.#limit
    this.#measureAt(from, 'top', nowMs)
  }

  #grow(nowMs: number, serviceMs: number): void {
    this.#judgeLoop(nowMs)
    if (this.#phase !== 'grow') return
    const { tooShortMs, workElsewhereMs, slower: slowerShare } = this.#tuning
    if (serviceMs >= tooShortMs && !this.#loopBusy) this.#crowding.completed(nowMs - serviceMs, serviceMs)
    if (this.#bound && !this.#loopBusy && serviceMs >= workElsewhereMs) {
      const knee = this.#crowding.knee(slowerShare)
      if (knee !== undefined) {
        this.#search(Math.min(this.#limit, Math.ceil(knee * CROWDED)), nowMs)
        this.#crowded = true
        return
      }
    }
    this.#batch.count++
    this.#batch.sum += serviceMs
    this.#batch.squares += serviceMs * serviceMs
    if (this.#bound && !this.#loopBusy && this.#limit < this.#tuning.max) this.#limit++
    const { count, sum, squares } = this.#batch
    if (count < this.#tuning.growthBatch || count < this.#limit / 3) return
    // Little's law: whoever completes has spent as much time in service as all there are, or the slow ones are still
    // missing among those who completed.
    if (this.#inflightMs > this.#tuning.missing * sum && count < this.#tuning.many) return
    const mean = sum / count
    const variance = Math.max(0, squares / count - mean * mean) / count
    // Those who completed now were admitted under the limit of a batch ago.
    const limit = this.#limitOfBatch
    const base = this.#growthBase
    const larger = limit / base.limit
    if (base.serviceMs === 0 || larger <= 1) {
      this.#growthBase = { limit: base.limit, serviceMs: mean, variance }
      this.#beginBatch(nowMs)
      return
    }
    // A limit that hardly grew is judged against the same base, or slow growth would never be judged at all.
    const grew = larger >= this.#tuning.larger
    const slower = grew ? mean - base.serviceMs * (1 + this.#tuning.slower * (larger - 1)) : 0
    // Few of very different service times may be slow by chance: count on until it is clear, or they are many.
    if (slower > 0 && count < this.#tuning.many && slower < this.#tuning.clearly * Math.sqrt(variance + base.variance))
      return
    // What waited for the loop says nothing of anything else; and that the loop is busy is judged by itself.
    const rested = this.#busyMs() - this.#busyAtBatch < this.#tuning.loopBusy * (nowMs - this.#batchSince)
    this.#beginBatch(nowMs)
    if (slower > 0 && rested && mean >= this.#tuning.workElsewhereMs / this.#tuning.headroom) {
      // Where they began to wait for each other, at the most; and as much above it as the two means are uncertain, for
      // a search that starts below the knee sheds for nothing.
      const uncertain = Math.sqrt(variance / mean ** 2 + base.variance / base.serviceMs ** 2)
      const knee = Math.max((limit * base.serviceMs) / mean, limit / 2)
      this.#search(Math.min(this.#limit, knee * (1 + this.#tuning.unsure * uncertain)), nowMs)
    } else if (grew) this.#growthBase = { limit, serviceMs: mean, variance }
  }

  #beginBatch(nowMs: number): void {
    this.#batchSince = nowMs
    this.#busyAtBatch = this.#busyMs()
    this.#limitOfBatch = this.#limit
    this.#batch.count = 0
    this.#batch.sum = 0
    this.#batch.squares = 0
    this.#inflightMs = 0
  }

  #learn(nowMs: number, rate: number, busy: number): void {
    this.#disturbances = 0
    this.#learnedAt = nowMs
    this.#loopBinds = busy >= this.#tuning.loopBusy
    this.#rate = rate
    switch (this.#phase) {
      case 'top':
        this.#referenceRate = rate
        this.#referenceLimit = this.#limit
        this.#descend(nowMs)
        return
      case 'descend':
      case 'look-down': {
        this.#referenceRate = Math.max(rate, this.#referenceRate)
        if (rate >= this.#tuning.fell * this.#referenceRate && this.#limit > 1) {
          this.#descend(nowMs)
          return
        }
        this.#belowFloor = false
        // Throughput is in proportion all the way up to where we came from: there may be more above. A look that began
        // not far above the knee finds one not far below where it began, so there it takes more to say so.
        const lessOf =
          this.#phase === 'look-down' ? Math.max(PROPORTION, (1 + this.#knee / this.#referenceLimit) / 2) : PROPORTION
        this.#found((this.#limit * this.#referenceRate) / rate, nowMs)
        if (this.#knee >= this.#referenceLimit * lessOf && busy < this.#tuning.loopBusy) this.#beginGrowth(nowMs)
        return
      }
      case 'look-up':
        if (rate >= MORE * this.#steadyRate) this.#beginGrowth(nowMs)
        else this.#settleAt(this.#knee, nowMs, this.#lookAt)
        return
      case 'steady': {
        const before = this.#steadyRate
        // Where the loop was scarce and rests now, the limit may be all that keeps it from doing more.
        const rests = this.#kneeOfLoop && !this.#loopBinds
        this.#steadyRate = before === 0 ? rate : before + (rate - before) * 0.2
        const low = ++this.#steadyCount >= SURE && this.#worth(this.#steadyRate) > this.#limit * RAISED
        const changed = rests || low || (before > 0 && (rate < before * 0.7 || rate > before * 1.4))
        this.#changes = changed ? this.#changes + 1 : 0
        if (this.#changes >= this.#tuning.changes) {
          if (low && this.#loopBinds) {
            this.#rate = this.#steadyRate
            this.#settleAt(Math.max(this.#knee, this.#leastKnee()), nowMs, this.#lookAt)
          } else this.#beginGrowth(nowMs)
          return
        }
        if (this.#provesLow(nowMs, rate)) return
        if (this.#belowFloor) {
          if (this.#limit > this.#floor() * MUCH) this.#search(this.#limit, nowMs)
          else this.#openWindow(nowMs)
          return
        }
        if (this.#looksUp && this.#steadyCount >= USUAL && !this.#loopBinds) {
          this.#looksUp = false
          this.#measureAt(this.#limit * UP, 'look-up', nowMs)
          return
        }
        if (nowMs < this.#lookAt || this.#unproven !== undefined) {
          this.#openWindow(nowMs)
          return
        }
        this.#referenceRate = this.#steadyRate
        this.#referenceLimit = this.#limit
        this.#measureAt(Math.max(this.#knee * 0.7, this.#lowest()), 'look-down', nowMs)
        return
      }
    }
  }
}
