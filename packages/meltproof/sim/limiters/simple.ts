/**
 * The simplest limiter that could suffice. It doubles the limit until throughput stops rising. Then, and every 16 s
 * after that, it halves the limit repeatedly while throughput does not fall. docs/admission-results.md compares the
 * shipped limiter with this one.
 */
import type { Limiter } from '../../src/admission/limiter/limiter.ts'
import { Extreme } from './sampled-limiter.ts'

const INITIAL = 16
const MOST = 10_000
/**
 * A measurement lasts at least SHORTEST_MS, and three service times up to LONGEST_MS. It ends after ANSWERS answers, or
 * after LONGEST_MS and four service times with fewer.
 */
const SHORTEST_MS = 20
const LONGEST_MS = 1000
const ANSWERS = 24
/** Above this multiple of the best so far, throughput still rises with the limit. */
const RISES = 1.15
/** This many flat measurements in a row end the search. */
const FLAT = 2
/** If throughput is below this share of the best, the limit is below the knee. */
const FELL = 0.85
const PROBE_EVERY_MS = 16_000
/** The limit is at least the best throughput times one of these, ms: the first on a busy loop, otherwise the second. */
const FLOOR_LOOP_MS = 50
const FLOOR_ELSEWHERE_MS = 100
/** The loop is the scarce resource when it is busy for this share of the time. */
const BUSY = 0.9
/** A limit that was not reached for this long is forgotten, ms. */
const FORGET_MS = 5000

export class SimpleLimiter implements Limiter {
  readonly uncounted = 0
  readonly #busyMs: () => number
  #limit = INITIAL
  #phase: 'search' | 'rest' | 'probe' = 'search'
  #inService = 0
  #bound = false
  #unboundAt = Number.NEGATIVE_INFINITY
  #meanMs = 0
  /** How busy the loop was in the last measurement. */
  #busy = 0
  #best = new Extreme('most', PROBE_EVERY_MS)
  #bestRate = 0
  #flat = 0
  #restLimit = INITIAL
  #probeAt = 0
  #settlesAt = 0
  // The current measurement.
  #answers = 0
  #dropped = false
  #from = 0
  #busyThen = 0

  constructor(busyMs: () => number) {
    this.#busyMs = busyMs
  }

  get limit(): number {
    return Math.max(1, Math.min(MOST, Math.floor(this.#limit)))
  }

  get searching(): boolean {
    return this.#phase === 'search' && this.#flat === 0
  }

  admitted(): void {
    this.#inService++
  }

  completed(nowMs: number, serviceMs: number): void {
    this.#inService--
    this.#meanMs += (serviceMs - this.#meanMs) * (this.#meanMs === 0 ? 1 : 0.1)
    if (!this.#bound || !this.#settled(nowMs)) return
    this.#answers++
    this.#endMeasurement(nowMs)
  }

  dropped(nowMs: number): void {
    this.#inService--
    this.#dropped = true
    this.tick(nowMs)
  }

  gaveUp(): void {
    this.#dropped = true
  }

  limitReached(nowMs: number): void {
    this.#bound = true
    if (nowMs - this.#unboundAt > FORGET_MS) this.#search()
    this.#measureFrom(nowMs)
  }

  limitCleared(nowMs: number): void {
    this.#bound = false
    this.#unboundAt = nowMs
  }

  tick(nowMs: number): void {
    if (this.#bound && this.#settled(nowMs)) this.#endMeasurement(nowMs)
  }

  #endMeasurement(nowMs: number): void {
    const elapsedMs = nowMs - this.#from
    if (elapsedMs < Math.max(SHORTEST_MS, Math.min(3 * this.#meanMs, LONGEST_MS))) return
    if (this.#answers < ANSWERS && elapsedMs < Math.max(LONGEST_MS, 4 * this.#meanMs)) return
    // No answer and no dropped request: the measurement says nothing.
    if (this.#answers === 0 && !this.#dropped) return
    this.#busy = (this.#busyMs() - this.#busyThen) / elapsedMs
    this.#dropped = false
    this.#learn(this.#answers / elapsedMs, nowMs)
    this.#measureFrom(nowMs)
  }

  #measureFrom(nowMs: number): void {
    this.#answers = 0
    this.#from = nowMs
    this.#busyThen = this.#busyMs()
  }

  /** True once the requests admitted under the previous limit have left. */
  #settled(nowMs: number): boolean {
    if (this.#settlesAt === 0) return true
    if (nowMs < this.#settlesAt || this.#inService > this.#limit) return false
    this.#settlesAt = 0
    this.#measureFrom(nowMs)
    return true
  }

  #search(): void {
    this.#phase = 'search'
    this.#flat = 0
    this.#bestRate = 0
    this.#busy = 0
    this.#best = new Extreme('most', PROBE_EVERY_MS)
  }

  #learn(rate: number, nowMs: number): void {
    const before = this.#bestRate
    if (this.#phase !== 'probe') this.#bestRate = this.#best.add(nowMs, rate)
    if (this.#phase === 'search') {
      this.#flat = rate > before * RISES ? 0 : this.#flat + 1
      if (this.#flat >= FLAT || this.#busy >= BUSY) this.#tryHalf(nowMs)
      else if (this.#flat === 0) {
        this.#limit = Math.min(MOST, 2 * this.#limit)
        this.#settlesAt = nowMs + this.#meanMs
      }
    } else if (this.#phase === 'rest') {
      if (nowMs >= this.#probeAt) this.#tryHalf(nowMs)
    } else if (rate >= FELL * this.#bestRate) this.#tryHalf(nowMs)
    else if (rate < this.#bestRate * 0.6 && this.#busy < BUSY) {
      // Throughput fell in proportion to the limit, so the knee is higher.
      this.#limit = this.#restLimit
      this.#search()
    } else this.#rest(this.#restLimit, nowMs)
  }

  #tryHalf(nowMs: number): void {
    const floor = this.#bestRate * (this.#busy >= BUSY ? FLOOR_LOOP_MS : FLOOR_ELSEWHERE_MS)
    this.#restLimit = this.#limit
    const half = Math.max(1, floor, this.#limit / 2)
    if (half >= this.#limit) {
      this.#rest(Math.max(floor, this.#limit), nowMs)
      return
    }
    this.#phase = 'probe'
    this.#limit = half
    this.#settlesAt = nowMs + this.#meanMs
  }

  #rest(limit: number, nowMs: number): void {
    this.#phase = 'rest'
    this.#limit = limit
    this.#probeAt = nowMs + PROBE_EVERY_MS
    this.#settlesAt = nowMs + this.#meanMs
  }
}
