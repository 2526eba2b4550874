/**
 * Limits the requests in service while the container's memory is nearly full. Pure.
 *
 * Memory that requests hold is freed when they end, but the allocator keeps much of it for later requests. So usage
 * that stays high is no reason to shed. When usage grows with the requests in service, their number is frozen at a
 * mark, and reduced if usage still grows. Requests with bodies have the lower mark.
 */

const MB = 1024 * 1024
/** The part of the limit that is left at each mark: a share in small containers, a number of bytes in large ones. */
const COLLECT_LEFT = { share: 0.35, mostBytes: 384 * MB }
const BODY_LEFT = { share: 0.25, mostBytes: 256 * MB }
const ANY_LEFT = { share: 0.15, mostBytes: 128 * MB }
const FULL_LEFT = { share: 0.08, mostBytes: 64 * MB }
const LAST_LEFT = { share: 0.03, mostBytes: 24 * MB }
/** The last growth is expected to continue for this time, ms: running work still allocates its memory. */
const AHEAD_MS = 100
/** Growth is measured over at least this time, ms: garbage of the young generation comes and goes faster. */
const SLOPE_MS = 50
/** Sheds do not help if requests hold less than this share of the limit: other work fills the container's memory. */
const OWN_SHARE = 0.08
/** Minimum of that share, for a process that fills most of the limit at rest: less may be young-generation garbage. */
const LEAST_OWN_SHARE = 0.04
/**
 * A process is at rest when no request was in service for REST_MS. The memory that it then holds is a cache, or kept by
 * its allocator. The same holds for memory that has changed by at most STEADY_SHARE of the limit in STEADY_MS, while no
 * request was refused: a busy service is never at rest.
 */
const REST_MS = 5000
const STEADY_MS = 20_000
const STEADY_SHARE = 0.02
/** Growth below this share of the limit is ignored. */
const FLAT_SHARE = 0.004
/** Above the last mark every request is refused, until usage has not exceeded its maximum there for this time, ms. */
const FLAT_AT_LAST_MS = 2000
const CUT_EVERY_MS = 50
const RAISE_EVERY_MS = 100
const RAISE_WHILE_FLAT_MS = 500
const RAISE = 0.05
/** The rise while usage stays flat above the mark. Growth of {@link FLAT_SHARE} lowers the limit again. */
const RAISE_FLAT = 0.25
const CUT = 0.8
const CUT_WHEN_FULL = 0.5
/** Collections free little if usage changes by less than this share of the limit from one to the next. */
const COLLECTED_SHARE = 0.04
const COLLECT_EVERY_MS = 1000
const COLLECT_AT_LEAST_EVERY_MS = 60_000
/** A limit is dropped when no request has reached it for this time, ms. */
const FORGET_MS = 5000
const PEAK_MS = 1000

export interface MemorySample {
  readonly nowMs: number
  /** Usage of the group, without memory that the kernel can reclaim. */
  readonly usedBytes: number
  /** Resident memory of this process. */
  readonly ownBytes: number
}

export interface InService {
  readonly all: number
  /** Number of these requests that arrived with a body. */
  readonly bodies: number
}

export class MemoryRoom {
  readonly limitBytes: number
  readonly #collectMark: number
  readonly #bodyMark: number
  readonly #anyMark: number
  readonly #fullMark: number
  readonly #lastMark: number
  readonly #bodies: InServiceLimit
  /** The limit for requests without a body. */
  readonly #others: InServiceLimit
  usedBytes = 0
  /** Memory of this process: its minimum so far, and its value when the process was last at rest. */
  #leastBytes = Number.POSITIVE_INFINITY
  #restBytes = Number.POSITIVE_INFINITY
  #emptySinceMs = Number.NaN
  #steadyBytes = 0
  #steadySinceMs = 0
  /** The maximum usage since it last passed the last mark, and when that maximum was reached. */
  #highestBytes = 0
  #highestAtMs = 0
  #ownBytes = 0
  readonly #shareBytes: number
  #slopeFrom: MemorySample | undefined
  #perMs = 0
  /** True if requests in service have filled the memory, not other work. */
  #isOurs = false
  #ahead = 0
  #collectAtMs = Number.NEGATIVE_INFINITY
  #collectEveryMs = COLLECT_EVERY_MS
  #usedBeforeCollection = 0

  /** @param before the room under an earlier limit */
  constructor(limitBytes: number, before?: MemoryRoom) {
    this.limitBytes = limitBytes
    if (before !== undefined) {
      this.#leastBytes = before.#leastBytes
      this.#restBytes = before.#restBytes
    }
    this.#collectMark = mark(limitBytes, COLLECT_LEFT)
    this.#bodyMark = mark(limitBytes, BODY_LEFT)
    this.#anyMark = mark(limitBytes, ANY_LEFT)
    this.#fullMark = mark(limitBytes, FULL_LEFT)
    this.#lastMark = mark(limitBytes, LAST_LEFT)
    this.#shareBytes = Math.min(limitBytes * OWN_SHARE, (limitBytes - this.#bodyMark) / 3)
    this.#bodies = new InServiceLimit(limitBytes)
    this.#others = new InServiceLimit(limitBytes)
  }

  /**
   * True when request bodies must be read more slowly. This begins at the lower mark, because hundreds of uploads may
   * have been admitted before, and one turn of the loop reads from each.
   */
  get pacesBodies(): boolean {
    return this.#isOurs && this.#ahead >= this.#bodyMark
  }

  /** True when V8, which knows only its heap's limit, should collect. The interval grows while that frees little. */
  wantsCollection(nowMs: number): boolean {
    const mayHelp = this.#ownBytes - this.#leastBytes >= this.#shareBytes
    if (!mayHelp || this.usedBytes < this.#collectMark || nowMs < this.#collectAtMs) return false
    const changed = Math.abs(this.usedBytes - this.#usedBeforeCollection)
    const isWorthIt = changed >= this.limitBytes * COLLECTED_SHARE
    this.#collectEveryMs = isWorthIt ? COLLECT_EVERY_MS : Math.min(2 * this.#collectEveryMs, COLLECT_AT_LEAST_EVERY_MS)
    this.#collectAtMs = nowMs + this.#collectEveryMs
    this.#usedBeforeCollection = this.usedBytes
    return true
  }

  /** True if the memory is nearly full, but not because of requests in service. */
  get isFullOfOthers(): boolean {
    return !this.#isOurs && this.usedBytes >= this.#anyMark
  }

  /** Milliseconds until the next sample is worth its cost: a process can allocate about 4 MB per ms. */
  get nextInMs(): number {
    return Math.min(250, Math.max(5, (this.#bodyMark - this.usedBytes) / (4 * MB)))
  }

  sampled(sample: MemorySample, inService: InService): void {
    const { nowMs, usedBytes, ownBytes } = sample
    if (inService.all > 0) this.#emptySinceMs = Number.NaN
    else if (Number.isNaN(this.#emptySinceMs)) this.#emptySinceMs = nowMs
    this.#leastBytes = Math.min(this.#leastBytes, ownBytes)
    if (Math.abs(ownBytes - this.#steadyBytes) > this.limitBytes * STEADY_SHARE) {
      this.#steadyBytes = ownBytes
      this.#steadySinceMs = nowMs
    }
    const isAtRest = nowMs - this.#emptySinceMs >= REST_MS || nowMs - this.#steadySinceMs >= STEADY_MS
    this.#restBytes = isAtRest ? ownBytes : Math.min(this.#restBytes, ownBytes)
    this.#ownBytes = ownBytes
    const share = Math.max(this.limitBytes * LEAST_OWN_SHARE, (this.limitBytes - this.#restBytes) / 3)
    this.#isOurs = ownBytes - this.#restBytes >= Math.min(this.#shareBytes, share)
    const from = this.#slopeFrom
    if (from === undefined || nowMs - from.nowMs >= SLOPE_MS) {
      if (from !== undefined) this.#perMs = (usedBytes - from.usedBytes) / (nowMs - from.nowMs)
      this.#slopeFrom = sample
    }
    if (usedBytes < this.#lastMark) this.#highestBytes = 0
    else if (usedBytes > this.#highestBytes + this.limitBytes * FLAT_SHARE) {
      this.#highestBytes = usedBytes
      this.#highestAtMs = nowMs
    }
    this.usedBytes = usedBytes
    this.#ahead = usedBytes + Math.max(0, this.#perMs) * AHEAD_MS
    const state = { nowMs, usedBytes, ahead: this.#ahead, isFull: this.#ahead >= this.#fullMark }
    if (this.#isOurs) {
      this.#bodies.sampled(state, this.#bodyMark, inService.bodies)
      this.#others.sampled(state, this.#anyMark, inService.all - inService.bodies)
    } else {
      this.#bodies.forget()
      this.#others.forget()
    }
  }

  /** True if a request that arrives now must be shed. */
  refuses(bringsBody: boolean, { all, bodies }: InService, nowMs: number): boolean {
    if (all === 0 || !this.#isOurs) return false
    const refuses =
      (this.usedBytes >= this.#lastMark && nowMs - this.#highestAtMs < FLAT_AT_LAST_MS) ||
      (bringsBody ? this.#bodies.isReachedBy(bodies, nowMs) : this.#others.isReachedBy(all - bodies, nowMs))
    if (refuses) this.#steadySinceMs = nowMs
    return refuses
  }

  /** True if {@link refuses} could return true for any request. */
  get mayRefuse(): boolean {
    return this.#isOurs && (this.#bodies.isSet || this.#others.isSet)
  }
}

function mark(limitBytes: number, left: typeof COLLECT_LEFT): number {
  return limitBytes - Math.min(limitBytes * left.share, left.mostBytes)
}

interface State {
  readonly nowMs: number
  readonly usedBytes: number
  readonly ahead: number
  readonly isFull: boolean
}

class InServiceLimit {
  readonly #flatBytes: number
  readonly #peakWith = recentPeak()
  #most = Number.POSITIVE_INFINITY
  #changedAtMs = 0
  #usedThen = 0
  #metAtMs = 0
  #sampledAtMs = 0

  constructor(limitBytes: number) {
    this.#flatBytes = limitBytes * FLAT_SHARE
  }

  get isSet(): boolean {
    return this.#most !== Number.POSITIVE_INFINITY
  }

  isReachedBy(inService: number, nowMs: number): boolean {
    this.#peakWith(inService, nowMs)
    if (inService < this.#most) return false
    this.#metAtMs = nowMs
    return true
  }

  forget(): void {
    this.#most = Number.POSITIVE_INFINITY
  }

  sampled(state: State, markBytes: number, inService: number): void {
    const { nowMs, usedBytes, ahead, isFull } = state
    const peak = this.#peakWith(inService, nowMs)
    const sinceMs = nowMs - this.#changedAtMs
    // A burst may be refused between two samples.
    const isMet = inService >= this.#most || this.#metAtMs >= this.#sampledAtMs
    this.#sampledAtMs = nowMs
    if (ahead >= markBytes) {
      const grew = usedBytes - this.#usedThen > this.#flatBytes
      if (!this.isSet) this.#set(peak, state)
      else if (grew && sinceMs >= CUT_EVERY_MS) {
        this.#set(Math.min(this.#most, isFull ? inService * CUT_WHEN_FULL : peak * CUT), state)
      } else if (!grew && isMet && sinceMs >= RAISE_WHILE_FLAT_MS) {
        this.#set(this.#raisedBy(isFull ? RAISE : RAISE_FLAT), state)
      }
    } else if (this.isSet) {
      if (isMet && sinceMs >= RAISE_EVERY_MS) this.#set(this.#raisedBy(RAISE), state)
      else if (nowMs - Math.max(this.#metAtMs, this.#changedAtMs) >= FORGET_MS) this.forget()
    }
  }

  #raisedBy(share: number): number {
    return this.#most + Math.max(1, this.#most * share)
  }

  #set(most: number, { nowMs, usedBytes }: State): void {
    this.#most = Math.max(1, Math.floor(most))
    this.#changedAtMs = nowMs
    this.#usedThen = usedBytes
  }
}

/** Finds the most requests in service in the last one to two times PEAK_MS: at a single moment there may be few. */
function recentPeak(): (inService: number, nowMs: number) => number {
  let sinceMs = 0
  let most = 0
  let before = 0
  return (inService, nowMs) => {
    if (nowMs - sinceMs >= PEAK_MS) {
      before = nowMs - sinceMs < 2 * PEAK_MS ? most : 0
      most = 0
      sinceMs = nowMs
    }
    most = Math.max(most, inService)
    return Math.max(most, before)
  }
}
