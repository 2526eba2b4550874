/**
 * The common part of the rival limiters: they gather service times over a window and set a new limit at its end. They
 * use the same interface and gate as the limiter that meltproof ships, so that only the limiters differ.
 */
import type { Limiter } from '../../src/admission/limiter/limiter.ts'

export interface Sample {
  readonly nowMs: number
  readonly elapsedMs: number
  readonly count: number
  readonly meanMs: number
  readonly minMs: number
  /** Completions per ms. */
  readonly rate: number
  /** Most in service at once. */
  readonly mostInflight: number
}

export abstract class SampledLimiter implements Limiter {
  readonly searching: boolean = false
  readonly uncounted = 0
  #exact: number
  #inflight = 0
  #windowStart = 0
  #count = 0
  #sum = 0
  #min = Number.POSITIVE_INFINITY
  #most = 0

  constructor(initial: number) {
    this.#exact = initial
  }

  get limit(): number {
    return Math.max(1, Math.round(this.#exact))
  }

  /** The limit before rounding, so that small steps add up. */
  protected get exact(): number {
    return this.#exact
  }

  protected setLimit(limit: number, least = 1): void {
    this.#exact = Math.min(MOST, Math.max(least, limit))
  }

  /** The least length of a window, ms, when service takes `meanMs`. */
  protected abstract windowMs(meanMs: number): number
  protected abstract update(sample: Sample): void

  admitted(): void {
    this.#inflight++
    this.#most = Math.max(this.#most, this.#inflight)
  }

  completed(nowMs: number, serviceMs: number): void {
    this.#inflight--
    this.#count++
    this.#sum += serviceMs
    this.#min = Math.min(this.#min, serviceMs)
    const elapsedMs = nowMs - this.#windowStart
    const meanMs = this.#sum / this.#count
    if (this.#count < LEAST_SAMPLES || elapsedMs < this.windowMs(meanMs)) return
    this.update({
      nowMs,
      elapsedMs,
      count: this.#count,
      meanMs,
      minMs: this.#min,
      rate: this.#count / elapsedMs,
      mostInflight: this.#most,
    })
    this.#windowStart = nowMs
    this.#count = 0
    this.#sum = 0
    this.#min = Number.POSITIVE_INFINITY
    this.#most = this.#inflight
  }

  dropped(): void {
    this.#inflight--
  }

  limitReached(): void {}
  tick(): void {}
  limitCleared(): void {}
}

/** All limiters have the same ceiling. */
const MOST = 10_000
/** The value of Netflix's WindowedLimit. */
const LEAST_SAMPLES = 10

/** The least or the most of a quantity over the last `overMs`, in ten buckets. */
export class Extreme {
  readonly #sign: 1 | -1
  readonly #bucketMs: number
  #buckets: { from: number; value: number }[] = []

  constructor(which: 'least' | 'most', overMs: number) {
    this.#sign = which === 'least' ? 1 : -1
    this.#bucketMs = overMs / 10
  }

  /** Adds a value and returns the extreme. */
  add(nowMs: number, value: number): number {
    const signed = value * this.#sign
    const last = this.#buckets.at(-1)
    if (last === undefined || nowMs - last.from >= this.#bucketMs) this.#buckets.push({ from: nowMs, value: signed })
    else last.value = Math.min(last.value, signed)
    this.#buckets = this.#buckets.filter(bucket => nowMs - bucket.from < this.#bucketMs * 10)
    return this.#sign * Math.min(...this.#buckets.map(bucket => bucket.value))
  }
}
