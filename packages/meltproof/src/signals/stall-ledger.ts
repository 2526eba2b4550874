/**
 * The stall ledger: in which stretches could the event loop not turn? Fed with looks at the loop, which say how long it
 * has been idle ever, and which turn it is in. Between two looks it was busy for what it was not idle; where that is
 * more than short work takes, there was a stall. Pure: it is told the time, and knows no timer and no event loop.
 *
 * A look right after a stall knows when it began: at the look before, and after what the loop has been idle since. The
 * longer after a stall the next look comes, the more too late the stall is noted, by what was idle in between. So whoever
 * looks does it often (loop-stalls.ts).
 */

/** A stretch in which the loop could not turn. */
export interface Stall {
  readonly fromMs: number
  readonly toMs: number
}

export interface StallLedgerTuning {
  /** Busy for no longer than this is not a stall, ms. */
  readonly leastMs: number
  /** Over turns of less than this on average, ms, whatever was busy was many short things and no stall. */
  readonly shortTurnMs: number
  /** Most stalls remembered; the oldest go first. */
  readonly capacity: number
}

/** 4,096 stalls are at least 49 s of them, and 96 KiB, taken only once the first stall is seen. */
export const STALL_TUNING: StallLedgerTuning = { leastMs: 12, shortTurnMs: 3, capacity: 4096 }

/**
 * What came up to so long after a stall was over may still have lain there: the turn that follows works through what
 * has piled up. Longer than that is a stall of its own; ms.
 */
export const AFTERMATH_MS: number = STALL_TUNING.leastMs

export class StallLedger {
  readonly #tuning: StallLedgerTuning
  /** A ring: stall n lies at n % capacity. `#before` is what had been stalled in total before it. */
  #from = NONE
  #to = NONE
  #before = NONE
  #count = 0
  #totalMs = 0
  #lastEndMs = Number.NEGATIVE_INFINITY
  #lookedAtMs = Number.NaN
  #lookedIdleMs = 0
  #lookedTurn = Number.NaN

  constructor(tuning: StallLedgerTuning = STALL_TUNING) {
    this.#tuning = tuning
  }

  /** When the loop was last looked at; NaN while nothing is watched. */
  get lookedAtMs(): number {
    return this.#lookedAtMs
  }

  /** Looks begin. Nothing is known of the time before. */
  start(atMs: number, idleMs: number, turn: number): void {
    this.#lookedAtMs = atMs
    this.#lookedIdleMs = idleMs
    this.#lookedTurn = turn
  }

  /**
   * A look at the loop: it has been idle for `idleMs` ever, and `turn` is a number that changes with each turn (NaN where
   * nobody counts them). The stall that is over since the look before, if there was one.
   */
  look(atMs: number, idleMs: number, turn: number): Stall | undefined {
    // In the same turn whatever it is still goes on.
    if (turn === this.#lookedTurn) return undefined
    const stall = this.#isStalled(atMs, idleMs, turn) ? { fromMs: this.#busyFrom(idleMs), toMs: atMs } : undefined
    this.start(atMs, idleMs, turn)
    if (stall !== undefined) this.#record(stall)
    return stall
  }

  /** Looks end; what comes is not watched. */
  stop(): void {
    this.#lookedAtMs = Number.NaN
  }

  /** Share of the time since the last look in which the loop had something to do, 0 to 1. */
  busyShare(atMs: number, idleMs: number): number {
    return this.#busyMs(atMs, idleMs) / Math.max(atMs - this.#lookedAtMs, 1e-9)
  }

  /** Whether a stall may be on at all, so that the loop has to be asked: the last look is long enough ago. */
  mayBeStalled(atMs: number): boolean {
    return atMs - this.#lookedAtMs > this.#tuning.leastMs
  }

  /** Milliseconds of stall within [fromMs, toMs], with the one that is still on. `idleMs` and `turn` as of now. */
  stalledBetween(fromMs: number, toMs: number, idleMs: number, turn: number): number {
    if (!(toMs > fromMs)) return 0
    // Asked for every request that is observed, and hardly ever was there one of late.
    let stalled = this.#lastEndMs <= fromMs ? 0 : this.#stalledBefore(toMs) - this.#stalledBefore(fromMs)
    if (this.#isStalled(toMs, idleMs, turn)) stalled += Math.max(0, toMs - Math.max(fromMs, this.#busyFrom(idleMs)))
    return stalled
  }

  /** The stalls that touch [fromMs, toMs], oldest first, whole. One that is still on is not among them. */
  stallsBetween(fromMs: number, toMs: number): Stall[] {
    const found: Stall[] = []
    for (let n = this.#count - 1; n >= this.#oldest; n--) {
      const slot = n % this.#tuning.capacity
      if (this.#to[slot]! <= fromMs) break
      if (this.#from[slot]! < toMs) found.push({ fromMs: this.#from[slot]!, toMs: this.#to[slot]! })
    }
    return found.reverse()
  }

  /**
   * Since when what is read at `atMs`, now, may have lain unread: since the stall began that is still on, or in whose
   * aftermath that is; `atMs` itself when there was none. Before that stall the loop had looked.
   */
  lainSince(atMs: number, idleMs: number, turn: number): number {
    if (this.#isStalled(atMs, idleMs, turn)) return Math.min(atMs, this.#busyFrom(idleMs))
    if (atMs - this.#lastEndMs > AFTERMATH_MS) return atMs
    return this.#from[(this.#count - 1) % this.#tuning.capacity]!
  }

  get #oldest(): number {
    return Math.max(0, this.#count - this.#tuning.capacity)
  }

  /** NaN while nothing is watched, which is more than nothing. */
  #busyMs(atMs: number, idleMs: number): number {
    return atMs - this.#lookedAtMs - (idleMs - this.#lookedIdleMs)
  }

  #isStalled(atMs: number, idleMs: number, turn: number): boolean {
    const busyMs = this.#busyMs(atMs, idleMs)
    if (!(busyMs > this.#tuning.leastMs)) return false
    const turns = turn - this.#lookedTurn
    return !(turns > 0) || busyMs / turns >= this.#tuning.shortTurnMs
  }

  #busyFrom(idleMs: number): number {
    return this.#lookedAtMs + Math.max(0, idleMs - this.#lookedIdleMs)
  }

  #record({ fromMs, toMs }: Stall): void {
    const { capacity } = this.#tuning
    if (this.#from.length === 0) {
      this.#from = new Float64Array(capacity)
      this.#to = new Float64Array(capacity)
      this.#before = new Float64Array(capacity)
    }
    const slot = this.#count++ % capacity
    this.#from[slot] = fromMs
    this.#to[slot] = toMs
    this.#before[slot] = this.#totalMs
    this.#totalMs += toMs - fromMs
    this.#lastEndMs = toMs
  }

  /** All that was stalled before `atMs`, as far back as the ring remembers. */
  #stalledBefore(atMs: number): number {
    const { capacity } = this.#tuning
    // The last stall that began before atMs: they are in order and do not overlap.
    let low = this.#oldest
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#from[middle % capacity]! < atMs) low = middle + 1
      else high = middle
    }
    if (low === this.#oldest) return this.#count === 0 ? 0 : this.#before[low % capacity]!
    const slot = (low - 1) % capacity
    return this.#before[slot]! + Math.min(atMs, this.#to[slot]!) - this.#from[slot]!
  }
}

const NONE = new Float64Array(0)
