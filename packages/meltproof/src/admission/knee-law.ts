/**
 * The limit law: find the knee of the throughput curve, and stay a little above it.
 *
 * X(L), the throughput with L requests in service, rises in proportion to L as long as they do not stand in each
 * other's way, and is flat once the scarce thing behind them (a core, a pool, a disk) is busy all the time. Where the
 * two lines meet is the knee K = X_max * B, B being the service time without queueing (Kleinrock's optimal operating
 * point; BBR's bandwidth-delay product, Cardwell et al., ACM Queue 2016). Below K throughput is lost, above it only
 * latency is gained.
 *
 * The law learns from nothing but X at different L, and only while the limit binds: an idle service teaches nothing
 * about its limit, and a baseline latency learned long ago can drift or lie when the mix of routes changes. Because a
 * queue stands in front, lowering L for a moment to look costs little throughput and sheds nobody.
 *
 * - grow: the loop is idle and service does not get slower: one more with every completion, which doubles L in each
 *   service time (TCP's slow start; leaving it when delay rises is HyStart, Ha & Rhee 2008).
 *   When service became slower, it is looked at under the limit growth came from: a slow moment is slow there too.
 * - descend: X does not fall when L is halved: halve again. Where it falls, K is known.
 * - steady: stay at K times the headroom; look below from time to time, above whenever the limit starts to bind, and
 *   at once when X changes.
 * - question, look-up: a steady limit that makes a queue may be too low, measured in a noisy moment or where requests
 *   share work (a group commit): is X higher under a higher limit? Asked before the queue is called overload.
 */
import type { LimitLaw } from './limit.ts'
import { VolleyMean } from './volley-mean.ts'

/** Tuning of the law. */
export interface KneeTuning {
  /** The limit before anything was learned. */
  readonly initial: number
  /** Never more in service than this: each holds memory. */
  readonly max: number
  /** L = K * headroom, rounded up: variance of service times must not idle the scarce resource. */
  readonly headroom: number
  /** Completions a measurement needs, so that its noise is below the differences the law looks for. */
  readonly samples: number
  /** No measurement is shorter, ms: timers and garbage collection would dominate it. */
  readonly minWindowMs: number
  /** No measurement is longer, ms, unless a single service takes longer. */
  readonly maxWindowMs: number
  /** How long a steady limit is trusted before the law looks below it again, ms. */
  readonly lookEveryMs: number
  /** After so long without binding, ms, what was learned may be another traffic's: growth is tried before it is used. */
  readonly forgetMs: number

  // What growth and measurements are judged by.

  /** Above this share of busy time the loop itself is the scarce resource, and more concurrency can not help. */
  readonly loopBusy: number
  /** The loop's business is judged over no less than this, ms. */
  readonly busyWindowMs: number
  /** After so many busy windows in a row growth is no excuse for a queue any more. */
  readonly busyToStand: number
  /** X lower than this share of the reference means that L is below the knee. */
  readonly fell: number
  /** X higher than this times the reference under a limit that much higher means that the limit was below the knee. */
  readonly rose: number
  /** See above. */
  readonly higher: number
  /** A limit this much larger than the last one judged is judged by how service times took it. */
  readonly larger: number
  /** Service times that rise by more than this share of what the limit rose by: requests stand in each other's way. */
  readonly slower: number
  /** More time was spent in service than those who completed account for, by this factor: the slow ones are missing. */
  readonly missing: number
  /** By so many standard errors a mean must be larger before so few completions are believed. */
  readonly clearly: number
  /** A search starts so many standard errors above where growth says the knee is. */
  readonly unsure: number
  /** After so many completions a mean is believed whatever its error. */
  readonly many: number
  /** Two knees nearer than this (natural logarithm; a factor of 1.35) are the same. */
  readonly sameKnee: number
  /** A knee found again and again is trusted for up to so many times as long as one just found. */
  readonly mostTrust: number
  /** So many measurements in a row make a change; one is noise. */
  readonly changes: number
  /** Mean service time is compared over at least this many completions. */
  readonly growthBatch: number
  /**
   * Up to this limit a search is quick: growth ends as soon as the loop is busy, and the search starts low. With more in
   * service the loop must have been busy so many times in a row, and the search starts where growth ended.
   */
  readonly searchAtOnce: number
  /** See above. */
  readonly busyStreak: number
  /** While a lower limit keeps everybody out, so many ms must see this share of those above it leave; or the look ends. */
  readonly patienceMs: number
  /** See above. */
  readonly leaving: number
  /** A steady limit that has bound for so long, ms, is questioned before the queue behind it is called overload. */
  readonly questionAfterMs: number
  /** Questions that may take longer than this, ms, are not asked: it is about as long as a queue takes to be overload. */
  readonly questionMs: number
  /** Having been questioned in vain it is left alone for so long, ms, and for twice as long each further time. */
  readonly questionEveryMs: number
}

export const KNEE_TUNING: KneeTuning = {
  initial: 16,
  max: 10_000,
  headroom: 2,
  samples: 24,
  minWindowMs: 40,
  maxWindowMs: 1000,
  lookEveryMs: 4000,
  forgetMs: 5000,
  loopBusy: 0.9,
  busyWindowMs: 20,
  busyToStand: 3,
  fell: 0.85,
  rose: 1.25,
  higher: 1.5,
  larger: 1.3,
  slower: 0.6,
  missing: 3,
  clearly: 2,
  unsure: 6,
  many: 200,
  sameKnee: 0.3,
  mostTrust: 4,
  changes: 2,
  growthBatch: 8,
  searchAtOnce: 48,
  busyStreak: 15,
  patienceMs: 300,
  leaving: 0.1,
  questionAfterMs: 100,
  questionMs: 400,
  questionEveryMs: 1000,
}

/** A measurement is begun anew at most so many times. */
const MOST_DISTURBANCES = 3
/** Leaving, settling and being measured under a lower limit takes so many services. */
const DOUBT_SERVICES = 4
/** Growth is given the benefit of the doubt so many times. */
const MOST_DOUBTS = 3
/** No measurement is shorter than so many services: requests that share a pool leave in volleys. */
const WINDOW_SERVICES = 3
/** A question that was in vain is left alone for so many times as long as it took. */
const QUIET_SHARE = 4
/** A queue that is empty for less than this, ms, stands all the same. */
const MOMENT_MS = 20

type Phase = 'grow' | 'top' | 'descend' | 'steady' | 'look-down' | 'question' | 'look-up'

/** Service became slower while the limit grew: because of it? */
interface Doubt {
  /** The limit it had grown to. */
  readonly limit: number
  /** Where a search would begin. */
  readonly from: number
  /** Faster than this under the limit from which growth began, ms: it was the limit. */
  readonly serviceMs: number
  readonly sinceMs: number
  /** Since when no more are in service than the lower limit allows. */
  settledAt: number
}

export class KneeLaw implements LimitLaw {
  readonly #tuning: KneeTuning
  /** Cumulative milliseconds the loop was busy; the law uses differences only. */
  readonly #busyMs: () => number
  #limit: number
  #phase: Phase = 'grow'
  #bound = false
  /** Since when it binds, but for moments. */
  #boundSince = 0
  #unboundAt = Number.NEGATIVE_INFINITY
  /** 0 before it was learned. */
  #knee = 0
  /** The throughput, per ms, that a lower limit is compared with. */
  #referenceRate = 0
  #referenceLimit = 0
  #steadyRate = 0
  /** Measurements in a row that differ from the steady rate. */
  #changes = 0
  #lookAt = 0
  /** How long the next look waits. */
  #trustMs = 0
  #meanServiceMs = 0
  /** What the limit was questioned since it binds. */
  #questioned = false
  #busyWhenBound = 0
  /** Clients that went away since it was questioned. */
  #deserted = 0
  #questionAt = 0
  #askedAt = 0
  #questionEveryMs: number

  #inflight = 0
  /** Time spent in service by all there are together, since the batch began. */
  #inflightMs = 0
  #inflightSince = 0

  // The measurement under way: the gaps between completions while the limit binds from the one to the other, once
  // service has settled under a changed limit. Stretches in which it does not bind say nothing about the limit.
  #settling = false
  /** Measurements begun anew since the last that was finished. */
  #disturbances = 0
  #changedAt = 0
  #checkedAt = 0
  #inflightAtCheck = 0
  #count = 0
  #gapsMs = 0
  #busyInGapsMs = 0
  /** The completion a gap began with; NaN when the limit did not bind since. */
  #gapStart = Number.NaN
  #busyAtGapStart = 0

  // Growth.
  /** The limit and mean service time that growth is judged by; 0 before it was measured. */
  #growthBase = { limit: 0, serviceMs: 0, variance: 0 }
  #doubt: Doubt | undefined
  #doubts = 0
  /** Service times of those who completed lately. */
  readonly #batch = new VolleyMean()
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
    this.#questionEveryMs = tuning.questionEveryMs
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
    if (this.#phase === 'question' || this.#phase === 'look-up') return this.#bound
    return this.#phase === 'grow' && this.#bound && this.#busyStreak < this.#tuning.busyToStand
  }

  admitted(nowMs: number): void {
    this.#countInflight(nowMs)
    this.#inflight++
  }

  #countInflight(nowMs: number): void {
    this.#inflightMs += this.#inflight * (nowMs - this.#inflightSince)
    this.#inflightSince = nowMs
  }

  completed(nowMs: number, serviceMs: number): void {
    this.#countInflight(nowMs)
    this.#inflight--
    this.#meanServiceMs += (serviceMs - this.#meanServiceMs) * (this.#meanServiceMs === 0 ? 1 : 0.1)
    if (this.#phase === 'grow') {
      this.#grow(nowMs, serviceMs)
      return
    }
    if (!this.#bound || !this.#settled(nowMs)) return
    this.#countGap(nowMs)
    if (!this.#measured()) return
    this.#disturbances = 0
    this.#learn(nowMs, this.#count / this.#gapsMs, this.#busyInGapsMs / this.#gapsMs)
  }

  deserted(nowMs: number): void {
    this.#countInflight(nowMs)
    this.#inflight--
    this.#deserted++
  }

  bound(nowMs: number): void {
    this.#bound = true
    this.#gapStart = Number.NaN
    // What was measured before a long quiet may be another traffic's.
    const quietMs = nowMs - this.#unboundAt
    if (quietMs > MOMENT_MS) {
      this.#boundSince = nowMs
      this.#busyWhenBound = this.#busyMs()
      this.#questioned = false
      this.#askedAt = nowMs
    }
    if (quietMs > this.#tuning.maxWindowMs) {
      this.#openWindow()
      // Under the larger limit nobody waited any more.
      if (this.#phase === 'look-up') this.#settleAt(this.#limit / this.#tuning.headroom, nowMs, this.#lookAt)
      else if (this.#phase === 'question') this.#settleAt(this.#knee, nowMs, this.#lookAt)
    }
    if (quietMs < this.#tuning.forgetMs) return
    if (this.#knee > 0) this.#limit = this.#steadyLimit()
    this.#beginGrowth(nowMs)
  }

  tick(nowMs: number): void {
    if (!this.#bound) return
    if (this.#phase === 'grow') {
      const doubt = this.#doubt
      if (doubt === undefined || nowMs - doubt.sinceMs < this.#tuning.patienceMs) return
      this.#limit = doubt.limit
      this.#search(doubt.from, nowMs)
      return
    }
    if (this.#phase === 'question' || this.#phase === 'look-up') {
      if (this.#deserted > 0 || nowMs - this.#askedAt > this.#tuning.questionMs) {
        this.#inVain(nowMs)
        return
      }
    }
    this.#settled(nowMs)
    if (
      this.#phase === 'steady' &&
      !this.#questioned &&
      nowMs < this.#lookAt &&
      nowMs >= this.#questionAt &&
      nowMs - this.#boundSince >= this.#tuning.questionAfterMs
    )
      this.#question(nowMs)
  }

  /**
   * A limit that was too low makes a queue by itself: a knee is measured in a noisy moment, or throughput grows with
   * the limit because requests share work (a group commit). So growth is tried before anybody is shed for it.
   */
  #question(nowMs: number): void {
    // Two measurements and the time to settle between them: where they take longer, overload would be noticed too late.
    if ((2 * WINDOW_SERVICES + 1) * this.#meanServiceMs > this.#tuning.questionMs) return
    this.#questioned = true
    // Where the loop is the scarce thing there is nothing to ask.
    if (this.#busyMs() - this.#busyWhenBound >= this.#tuning.loopBusy * (nowMs - this.#boundSince)) return
    this.#phase = 'question'
    this.#askedAt = nowMs
    this.#deserted = 0
    this.#openWindow()
  }

  #inVain(nowMs: number): void {
    this.#questionAt = nowMs + Math.max(this.#questionEveryMs, QUIET_SHARE * (nowMs - this.#askedAt))
    this.#questionEveryMs = Math.min(2 * this.#questionEveryMs, this.#tuning.lookEveryMs * this.#tuning.mostTrust)
    this.#settleAt(this.#knee, nowMs, this.#lookAt)
  }

  unbound(nowMs: number): void {
    this.#bound = false
    this.#unboundAt = nowMs
  }

  disturbed(_nowMs: number): void {
    // A loop that never turns in time would never be measured at all.
    if (this.#bound && this.#disturbances++ < MOST_DISTURBANCES) this.#openWindow()
  }

  #countGap(nowMs: number): void {
    const busyMs = this.#busyMs()
    if (!Number.isNaN(this.#gapStart)) {
      this.#count++
      this.#gapsMs += nowMs - this.#gapStart
      this.#busyInGapsMs += busyMs - this.#busyAtGapStart
    }
    this.#gapStart = nowMs
    this.#busyAtGapStart = busyMs
  }

  #openWindow(): void {
    this.#count = 0
    this.#gapsMs = 0
    this.#busyInGapsMs = 0
    this.#gapStart = Number.NaN
  }

  /** True when the window holds enough to compare throughputs. */
  #measured(): boolean {
    const { samples, minWindowMs, maxWindowMs } = this.#tuning
    if (this.#gapsMs < Math.max(minWindowMs, Math.min(WINDOW_SERVICES * this.#meanServiceMs, maxWindowMs))) return false
    return this.#count >= samples || this.#gapsMs >= Math.max(maxWindowMs, 4 * this.#meanServiceMs)
  }

  #steadyLimit(): number {
    return Math.min(this.#tuning.max, Math.ceil(this.#knee * this.#tuning.headroom))
  }

  /** Changes the limit and measures once service has settled under it. */
  #measureAt(limit: number, phase: Phase, nowMs: number): void {
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
   * can teach: back to where we came from.
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
      if (enough || this.#phase === 'steady') return false
      this.#settleAt(this.#referenceLimit / this.#tuning.headroom, nowMs, nowMs + this.#tuning.lookEveryMs)
      return false
    } else if (since < Math.min(this.#meanServiceMs, this.#tuning.maxWindowMs)) return false
    this.#settling = false
    this.#openWindow()
    return true
  }

  /** A look has found the knee. The more often it finds the same, the longer it is trusted. */
  #found(knee: number, nowMs: number): void {
    const same = this.#knee > 0 && Math.abs(Math.log(knee / this.#knee)) < this.#tuning.sameKnee
    this.#trustMs = same
      ? Math.min(this.#trustMs * 2, this.#tuning.lookEveryMs * this.#tuning.mostTrust)
      : this.#tuning.lookEveryMs
    this.#settleAt(knee, nowMs, nowMs + this.#trustMs)
  }

  #settleAt(knee: number, nowMs: number, lookAt: number): void {
    this.#knee = Math.max(1, knee)
    this.#steadyRate = 0
    this.#changes = 0
    this.#lookAt = lookAt
    this.#measureAt(this.#steadyLimit(), 'steady', nowMs)
  }

  #beginGrowth(nowMs: number): void {
    this.#phase = 'grow'
    this.#doubt = undefined
    this.#doubts = 0
    this.#settling = false
    this.#growthBase = { limit: this.#limit, serviceMs: 0, variance: 0 }
    this.#loopBusy = true // until shown otherwise
    this.#busyStreak = 0
    this.#loopJudgedAt = nowMs
    this.#busyAtJudgement = this.#busyMs()
    this.#beginBatch()
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
    if (this.#knee > 0) this.#settleAt(this.#knee, nowMs, this.#lookAt)
    else this.#search(this.#limit, nowMs)
  }

  /** Looks for the knee from a limit downwards. */
  #search(from: number, nowMs: number): void {
    this.#doubt = undefined
    this.#referenceLimit = this.#limit
    this.#measureAt(from, 'top', nowMs)
  }

  #grow(nowMs: number, serviceMs: number): void {
    this.#judgeLoop(nowMs)
    if (this.#phase !== 'grow') return
    this.#batch.add(nowMs, serviceMs)
    if (this.#doubt !== undefined) {
      this.#resolveDoubt(nowMs, this.#doubt)
      return
    }
    if (this.#bound && !this.#loopBusy && this.#limit < this.#tuning.max) this.#limit++
    // Service is not slow because of a limit that nobody waits for.
    if (!this.#bound) return
    const { count, sum } = this.#batch
    if (count < this.#tuning.growthBatch || count < this.#limit / 3) return
    // Little's law: whoever completes has spent as much time in service as all there are, or the slow ones are still
    // missing among those who completed.
    if (this.#inflightMs > this.#tuning.missing * sum && count < this.#tuning.many) return
    const mean = sum / count
    const variance = this.#batch.variance()
    // Those who completed now were admitted under the limit of a batch ago.
    const limit = this.#limitOfBatch
    const base = this.#growthBase
    const larger = limit / base.limit
    if (base.serviceMs === 0 || larger <= 1) {
      this.#growthBase = { limit: base.limit, serviceMs: mean, variance }
      this.#beginBatch()
      return
    }
    // A limit that hardly grew is judged against the same base, or slow growth would never be judged at all.
    const grew = larger >= this.#tuning.larger
    const slower = grew ? mean - base.serviceMs * (1 + this.#tuning.slower * (larger - 1)) : 0
    // Few of very different service times may be slow by chance: count on until it is clear, or they are many.
    if (slower > 0 && count < this.#tuning.many && slower < this.#tuning.clearly * Math.sqrt(variance + base.variance))
      return
    this.#beginBatch()
    if (slower > 0) {
      // Where they began to wait for each other, at the most; and as much above it as the two means are uncertain, for
      // a search that starts below the knee sheds for nothing.
      const uncertain = Math.sqrt(variance / mean ** 2 + base.variance / base.serviceMs ** 2)
      const knee = Math.max((limit * base.serviceMs) / mean, limit / 2)
      const from = Math.min(this.#limit, knee * (1 + this.#tuning.unsure * uncertain))
      if (DOUBT_SERVICES * mean > this.#tuning.patienceMs || this.#doubts++ >= MOST_DOUBTS) {
        this.#search(from, nowMs)
        return
      }
      // Where requests wait for each other it is in proportion to the limit, else it stays: in the middle of the two.
      const serviceMs = mean / Math.sqrt(larger)
      this.#doubt = { limit: this.#limit, from, serviceMs, sinceMs: nowMs, settledAt: Number.POSITIVE_INFINITY }
      this.#limit = base.limit
    } else if (grew) this.#growthBase = { limit, serviceMs: mean, variance }
  }

  /**
   * Service became slower while the limit grew. It may have done so by itself (a slow moment of a disk, a neighbour):
   * then it is as slow under the limit from which growth began.
   */
  #resolveDoubt(nowMs: number, doubt: Doubt): void {
    if (this.#inflight <= this.#limit) doubt.settledAt = Math.min(doubt.settledAt, nowMs)
    if (!(nowMs - doubt.settledAt >= doubt.serviceMs && this.#bound)) {
      this.#beginBatch()
      return
    }
    const { count, sum } = this.#batch
    if (count < this.#tuning.growthBatch || count < this.#limit / 3) return
    this.#doubt = undefined
    const mean = sum / count
    this.#limit = doubt.limit
    if (mean < doubt.serviceMs) {
      this.#search(doubt.from, nowMs)
      return
    }
    this.#growthBase = { limit: this.#growthBase.limit, serviceMs: mean, variance: this.#batch.variance() }
    this.#beginBatch()
  }

  #beginBatch(): void {
    this.#limitOfBatch = this.#limit
    this.#batch.clear()
    this.#inflightMs = 0
  }

  #learn(nowMs: number, rate: number, busy: number): void {
    switch (this.#phase) {
      case 'top':
        this.#referenceRate = rate
        this.#referenceLimit = this.#limit
        this.#measureAt(this.#limit / 2, 'descend', nowMs)
        return
      case 'descend':
      case 'look-down':
        this.#referenceRate = Math.max(rate, this.#referenceRate)
        if (rate >= this.#tuning.fell * this.#referenceRate && this.#limit > 1) {
          this.#measureAt(this.#limit / 2, 'descend', nowMs)
          return
        }
        this.#found((this.#limit * this.#referenceRate) / rate, nowMs)
        // Throughput is in proportion all the way up to where we came from: there may be more above.
        if (this.#knee >= this.#referenceLimit * 0.8 && busy < this.#tuning.loopBusy) {
          this.#beginGrowth(nowMs)
        }
        return
      case 'look-up':
        if (rate < this.#tuning.rose * this.#referenceRate) {
          this.#inVain(nowMs)
          return
        }
        this.#knee = this.#limit / this.#tuning.headroom
        this.#questionEveryMs = this.#tuning.questionEveryMs
        this.#askedAt = nowMs
        this.#lookUp(nowMs, rate, busy)
        return
      case 'question':
        this.#lookUp(nowMs, rate, busy)
        return
      case 'steady': {
        const before = this.#steadyRate
        const changed = before > 0 && (rate < before * 0.7 || rate > before * 1.4)
        this.#changes = changed ? this.#changes + 1 : 0
        this.#steadyRate = before === 0 ? rate : before + (rate - before) * 0.2
        if (this.#changes >= this.#tuning.changes) {
          this.#beginGrowth(nowMs)
          return
        }
        if (nowMs < this.#lookAt) {
          this.#openWindow()
          return
        }
        this.#referenceRate = this.#steadyRate
        this.#referenceLimit = this.#limit
        this.#measureAt(this.#knee * 0.7, 'look-down', nowMs)
        return
      }
    }
  }

  /** This is the throughput under the limit there is; what is it under a higher one? */
  #lookUp(nowMs: number, rate: number, busy: number): void {
    this.#referenceRate = rate
    this.#referenceLimit = this.#limit
    if (this.#limit >= this.#tuning.max || busy >= this.#tuning.loopBusy)
      this.#settleAt(this.#knee, nowMs, this.#lookAt)
    else this.#measureAt(this.#limit * this.#tuning.higher, 'look-up', nowMs)
  }
}
