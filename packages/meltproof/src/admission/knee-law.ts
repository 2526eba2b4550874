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
 * - grow: loop idle, X rises with L: double.
 * - descend: X does not fall when L is halved: halve again. Where it falls, K is known.
 * - steady: stay at K times the headroom; look below, and above, from time to time, and at once when X changes.
 */
import type { LimitLaw } from './limit.ts'

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
}

export const KNEE_TUNING: KneeTuning = {
  initial: 8,
  max: 10_000,
  headroom: 2,
  samples: 24,
  minWindowMs: 40,
  maxWindowMs: 1000,
  lookEveryMs: 4000,
}

type Phase = 'grow' | 'descend' | 'steady' | 'look-down' | 'look-up'

/** Above this share of busy time the loop itself is the scarce resource, and more concurrency can not help. */
const LOOP_BUSY = 0.9
/** X lower than this share of the reference means that L is below the knee. */
const FELL = 0.85
/** X must rise by this share of what proportionality promises for a larger L to be worth it. */
const WORTH = 0.4

export class KneeLaw implements LimitLaw {
  readonly #tuning: KneeTuning
  /** Cumulative milliseconds the loop was busy; the law uses differences only. */
  readonly #busyMs: () => number
  #limit: number
  #phase: Phase = 'grow'
  #bound = false
  #inflight = 0

  /** The best throughput seen at the reference limit, per ms. */
  #reference = { limit: 0, rate: 0 }
  #steadyRate = 0
  #knee = 0
  #lookAt = Number.POSITIVE_INFINITY
  #lookUpNext = true

  // The measurement under way.
  #settleUntil = 0
  #windowStart = 0
  #windowCount = 0
  #busyAtStart = 0
  #meanServiceMs = 0

  constructor(busyMs: () => number, tuning: KneeTuning = KNEE_TUNING) {
    this.#busyMs = busyMs
    this.#tuning = tuning
    this.#limit = tuning.initial
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

  admitted(_nowMs: number): void {
    this.#inflight++
  }

  completed(nowMs: number, serviceMs: number): void {
    this.#inflight--
    this.#meanServiceMs += (serviceMs - this.#meanServiceMs) * (this.#meanServiceMs === 0 ? 1 : 0.1)
    if (!this.#bound) return
    if (nowMs < this.#settleUntil) return
    if (this.#windowCount === 0 && this.#windowStart < this.#settleUntil) this.#openWindow(nowMs)
    else this.#windowCount++
    const elapsed = nowMs - this.#windowStart
    const { samples, minWindowMs, maxWindowMs } = this.#tuning
    if (elapsed < minWindowMs) return
    if (this.#windowCount < samples && elapsed < Math.max(maxWindowMs, 4 * this.#meanServiceMs)) return
    const busy = (this.#busyMs() - this.#busyAtStart) / elapsed
    this.#learn(nowMs, this.#windowCount / elapsed, busy)
  }

  bound(nowMs: number): void {
    this.#bound = true
    if (this.#phase === 'look-down' || this.#phase === 'look-up' || this.#phase === 'descend') this.#resume(nowMs)
    else this.#openWindow(nowMs)
    if (this.#lookAt === Number.POSITIVE_INFINITY) this.#lookAt = nowMs + this.#tuning.lookEveryMs
  }

  unbound(_nowMs: number): void {
    this.#bound = false
  }

  disturbed(nowMs: number): void {
    if (this.#bound) this.#openWindow(nowMs)
  }

  /** A look that was cut short by the queue running empty: go back to where it started from. */
  #resume(nowMs: number): void {
    if (this.#knee > 0) this.#settleAt(this.#knee, nowMs)
    else this.#openWindow(nowMs)
  }

  #openWindow(nowMs: number): void {
    this.#windowStart = nowMs
    this.#windowCount = 0
    this.#busyAtStart = this.#busyMs()
  }

  /** Changes the limit and starts measuring once those admitted under the old one have left. */
  #try(limit: number, phase: Phase, nowMs: number): void {
    this.#phase = phase
    this.#limit = Math.max(1, Math.min(this.#tuning.max, Math.round(limit)))
    this.#settleUntil = nowMs + Math.min(this.#meanServiceMs, this.#tuning.maxWindowMs)
    this.#windowCount = 0
    this.#windowStart = Number.NEGATIVE_INFINITY
  }

  #settleAt(knee: number, nowMs: number): void {
    this.#knee = Math.max(1, knee)
    this.#steadyRate = 0
    this.#lookAt = nowMs + this.#tuning.lookEveryMs
    this.#try(Math.ceil(this.#knee * this.#tuning.headroom), 'steady', nowMs)
  }

  #learn(nowMs: number, rate: number, busy: number): void {
    const limit = this.#limit
    switch (this.#phase) {
      case 'grow': {
        const { limit: before, rate: rateBefore } = this.#reference
        const worth = before === 0 || rate / rateBefore - 1 >= WORTH * (limit / before - 1)
        if (worth && busy < LOOP_BUSY && limit < this.#tuning.max) {
          this.#reference = { limit, rate }
          this.#try(limit * 2, 'grow', nowMs)
          return
        }
        this.#reference = { limit, rate }
        this.#try(limit / 2, 'descend', nowMs)
        return
      }
      case 'descend': {
        const best = Math.max(rate, this.#reference.rate)
        if (rate >= FELL * best && limit > 1) {
          this.#reference = { limit, rate: best }
          this.#try(limit / 2, 'descend', nowMs)
          return
        }
        this.#settleAt((limit * best) / rate, nowMs)
        return
      }
      case 'look-down': {
        if (rate >= FELL * this.#reference.rate && limit > 1) {
          this.#try(limit / 2, 'descend', nowMs)
          return
        }
        this.#settleAt((limit * Math.max(rate, this.#reference.rate)) / rate, nowMs)
        return
      }
      case 'look-up': {
        const { limit: before, rate: rateBefore } = this.#reference
        if (rate / rateBefore - 1 >= WORTH * (limit / before - 1)) {
          this.#reference = { limit, rate }
          this.#try(limit * 2, 'grow', nowMs)
          return
        }
        this.#settleAt(this.#knee, nowMs)
        return
      }
      case 'steady': {
        const changed = this.#steadyRate > 0 && (rate < this.#steadyRate * 0.7 || rate > this.#steadyRate * 1.4)
        this.#steadyRate = this.#steadyRate === 0 ? rate : this.#steadyRate + (rate - this.#steadyRate) * 0.2
        if (changed || nowMs >= this.#lookAt) {
          this.#reference = { limit, rate: changed ? rate : this.#steadyRate }
          const idle = busy < LOOP_BUSY
          if (idle && (changed || this.#lookUpNext)) {
            this.#lookUpNext = false
            this.#try(Math.max(limit + 1, limit * 1.5), 'look-up', nowMs)
          } else {
            this.#lookUpNext = true
            this.#try(Math.max(1, this.#knee * 0.7), 'look-down', nowMs)
          }
          return
        }
        this.#openWindow(nowMs)
        return
      }
    }
  }
}
