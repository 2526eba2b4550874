/**
 * Records the intervals in which the event loop could not turn. A beat later than announced is a stall. The stall began
 * at the last beat plus the loop's idle time since, and at the latest when the missing beat was due. Pure.
 */
import type { StallRecord } from '../record.ts'

/** Shortest time from one beat to the next, ms. */
export const PERIOD_MS = 10
/** A beat that is late by no more than this is not a stall, ms: timers round to whole milliseconds. */
const SLACK_MS = 2
/** 4,096 stalls cover at least 49 s, and use 96 KiB, allocated at the first stall. */
const CAPACITY = 4096

/** Data read within this time after a stall may have waited during the stall, because the next turn reads it, ms. */
export const AFTERMATH_MS: number = PERIOD_MS + SLACK_MS

export class StallLedger {
  /** A ring: stall n is at n % CAPACITY. `#before` is the total stalled time before that stall. */
  #from = NONE
  #to = NONE
  #before = NONE
  #count = 0
  #totalMs = 0
  #lastEndMs = Number.NEGATIVE_INFINITY
  #lastBeatMs = Number.NaN
  #lastIdleMs = 0
  periodMs: number = PERIOD_MS

  /** `idleMs`: total idle time of the loop. Nothing is known of the time before the first beat, and from stop() on. */
  beat(atMs: number, idleMs: number, nextInMs: number = PERIOD_MS): void {
    if (this.overdue(atMs)) this.#record(this.#stallStart(idleMs), atMs)
    this.#lastBeatMs = atMs
    this.#lastIdleMs = idleMs
    this.periodMs = nextInMs
  }

  idleSince(atMs: number, idleMs: number): number {
    return (idleMs - this.#lastIdleMs) / Math.max(atMs - this.#lastBeatMs, 1e-9)
  }

  stop(): void {
    this.#lastBeatMs = Number.NaN
  }

  /** True during a stall; false while the heartbeat is stopped. */
  overdue(atMs: number): boolean {
    return this.lateMs(atMs) > SLACK_MS
  }

  /** How long ago the next beat was due, ms; negative before that, NaN while the heartbeat is stopped. */
  lateMs(atMs: number): number {
    return atMs - this.#lastBeatMs - this.periodMs
  }

  /** `idleMs`: the loop's current idle time, for a stall in progress; Infinity when unknown. */
  stalledBetween(fromMs: number, toMs: number, idleMs: number = Number.POSITIVE_INFINITY): number {
    if (!(toMs > fromMs)) return 0
    let stalled = this.#lastEndMs <= fromMs ? 0 : this.#stalledBefore(toMs) - this.#stalledBefore(fromMs)
    if (this.overdue(toMs)) stalled += toMs - Math.max(fromMs, this.#stallStart(idleMs))
    return stalled
  }

  /** The stalls that overlap [fromMs, toMs], oldest first, in full length, without a stall in progress. */
  stallsBetween(fromMs: number, toMs: number): StallRecord[] {
    const found: StallRecord[] = []
    for (let n = this.#count - 1; n >= this.#oldest; n--) {
      const slot = n % CAPACITY
      if (this.#to[slot]! <= fromMs) break
      if (this.#from[slot]! < toMs) found.push({ fromMs: this.#from[slot]!, toMs: this.#to[slot]! })
    }
    return found.reverse()
  }

  /** The earliest time at which data read at `atMs` may have arrived: the start of a stall in progress or just over. */
  arrivedNoEarlierThan(atMs: number, idleMs: number = Number.POSITIVE_INFINITY): number {
    if (this.overdue(atMs)) return this.#stallStart(idleMs)
    if (atMs - this.#lastEndMs > AFTERMATH_MS) return atMs
    return this.#from[(this.#count - 1) % CAPACITY]!
  }

  get #oldest(): number {
    return Math.max(0, this.#count - CAPACITY)
  }

  #stallStart(idleMs: number): number {
    return this.#lastBeatMs + Math.min(this.periodMs, Math.max(0, idleMs - this.#lastIdleMs))
  }

  #record(fromMs: number, toMs: number): void {
    if (this.#from.length === 0) {
      this.#from = new Float64Array(CAPACITY)
      this.#to = new Float64Array(CAPACITY)
      this.#before = new Float64Array(CAPACITY)
    }
    const slot = this.#count++ % CAPACITY
    this.#from[slot] = fromMs
    this.#to[slot] = toMs
    this.#before[slot] = this.#totalMs
    this.#totalMs += toMs - fromMs
    this.#lastEndMs = toMs
  }

  #stalledBefore(atMs: number): number {
    // Finds the last stall that began before atMs: stalls are ordered and do not overlap.
    let low = this.#oldest
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#from[middle % CAPACITY]! < atMs) low = middle + 1
      else high = middle
    }
    if (low === this.#oldest) return this.#count === 0 ? 0 : this.#before[low % CAPACITY]!
    const slot = (low - 1) % CAPACITY
    return this.#before[slot]! + Math.min(atMs, this.#to[slot]!) - this.#from[slot]!
  }
}

const NONE = new Float64Array(0)
