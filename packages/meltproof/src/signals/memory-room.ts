/**
 * Limits the requests in service while the container's memory is nearly full. Pure.
 *
 * Memory that requests hold is freed when they end, but the allocator keeps much of it for later requests. So usage
 * that stays high is no reason to shed. When usage grows with the requests in service, their number is frozen at a
 * mark, and reduced if usage still grows. Requests with bodies have the lower mark.
 */

const MB = 1024 * 1024
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
/** The largest rise while usage stays flat above the mark. Growth of {@link FLAT_SHARE} lowers the limit again. */
const RAISE_FLAT = 0.25
/** The share of the memory left below the full mark that a rise may use, unless {@link RAISE} allows more. */
const RAISE_ROOM = 0.5
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
  readonly #marks: ReturnType<typeof marksOf>
  readonly #bodies = new InServiceLimit()
  /** The limit for requests without a body. */
  readonly #others = new InServiceLimit()
  usedBytes = 0
  /** Memory of this process: its minimum so far, and its value when the process was last at rest. */
  #leastBytes: number
  #restBytes: number
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
    this.#leastBytes = before === undefined ? Number.POSITIVE_INFINITY : before.#leastBytes
    this.#restBytes = before === undefined ? Number.POSITIVE_INFINITY : before.#restBytes
    this.#marks = marksOf(limitBytes)
    this.#shareBytes = Math.min(limitBytes * OWN_SHARE, (limitBytes - this.#marks.body) / 3)
  }

  /** True when request bodies must be read more slowly, because one turn of the loop reads from each that was admitted. */
  get pacesBodies(): boolean {
    return this.#isOurs && this.#ahead >= this.#marks.body
  }

  /** True when V8, which knows only its heap's limit, should collect. The interval grows while that frees little. */
  wantsCollection(nowMs: number): boolean {
    const mayHelp = this.#ownBytes - this.#leastBytes >= this.#shareBytes
    if (!mayHelp || this.usedBytes < this.#marks.collect || nowMs < this.#collectAtMs) return false
    const isWorthIt = Math.abs(this.usedBytes - this.#usedBeforeCollection) >= this.limitBytes * COLLECTED_SHARE
    this.#collectEveryMs = isWorthIt ? COLLECT_EVERY_MS : Math.min(2 * this.#collectEveryMs, COLLECT_AT_LEAST_EVERY_MS)
    this.#collectAtMs = nowMs + this.#collectEveryMs
    this.#usedBeforeCollection = this.usedBytes
    return true
  }

  /** True if the memory is nearly full, but not because of requests in service. */
  get isFullOfOthers(): boolean {
    return !this.#isOurs && this.usedBytes >= this.#marks.any
  }

  /** Milliseconds until the next sample is worth its cost: a process can allocate about 4 MB per ms. */
  get nextInMs(): number {
    return Math.min(250, Math.max(5, (this.#marks.body - this.usedBytes) / (4 * MB)))
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
    const flatBytes = this.limitBytes * FLAT_SHARE
    if (usedBytes < this.#marks.last) this.#highestBytes = 0
    else if (usedBytes > this.#highestBytes + flatBytes) {
      this.#highestBytes = usedBytes
      this.#highestAtMs = nowMs
    }
    this.usedBytes = usedBytes
    this.#ahead = usedBytes + Math.max(0, this.#perMs) * AHEAD_MS
    const eachBytes = Math.max(1, ownBytes - this.#restBytes) / Math.max(1, inService.all)
    const mayAdd = (RAISE_ROOM * (this.#marks.full - usedBytes)) / eachBytes
    const state = { nowMs, usedBytes, flatBytes, ahead: this.#ahead, isFull: this.#ahead >= this.#marks.full, mayAdd }
    if (this.#isOurs) {
      this.#bodies.sampled(state, this.#marks.body, inService.bodies)
      this.#others.sampled(state, this.#marks.any, inService.all - inService.bodies)
    } else {
      this.#bodies.forget()
      this.#others.forget()
    }
  }

  /** True if a request that arrives now must be shed. */
  refuses(bringsBody: boolean, { all, bodies }: InService, nowMs: number): boolean {
    if (all === 0 || !this.#isOurs) return false
    const refuses =
      (this.usedBytes >= this.#marks.last && nowMs - this.#highestAtMs < FLAT_AT_LAST_MS) ||
      (bringsBody ? this.#bodies.isReachedBy(bodies, nowMs) : this.#others.isReachedBy(all - bodies, nowMs))
    if (refuses) this.#steadySinceMs = nowMs
    return refuses
  }

  /** True if {@link refuses} could return true for any request. */
  get mayRefuse(): boolean {
    return this.#isOurs && (this.#bodies.isSet || this.#others.isSet)
  }
}

/** At each mark a part of the limit is left: a share in small containers, a number of MB in large ones. */
function marksOf(limitBytes: number) {
  const left = (share: number, mostMb: number): number => limitBytes - Math.min(limitBytes * share, mostMb * MB)
  return {
    collect: left(0.35, 384),
    body: left(0.25, 256),
    any: left(0.15, 128),
    full: left(0.08, 64),
    last: left(0.03, 24),
  }
}

interface State {
  readonly nowMs: number
  readonly usedBytes: number
  readonly flatBytes: number
  readonly ahead: number
  readonly isFull: boolean
  /** Number of requests for which there is room, if each holds as much as those in service do on average. */
  readonly mayAdd: number
}

class InServiceLimit {
  readonly #peakWith = recentPeak()
  #most = Number.POSITIVE_INFINITY
  #changedAtMs = 0
  #usedThen = 0
  #metAtMs = 0
  #sampledAtMs = 0
  /** The most requests in service since the limit was set. */
  #carried = 0
  /** The last rise beyond that number, if usage has stayed flat since. */
  #added = 0

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
    this.#added = 0
  }

  sampled(state: State, markBytes: number, inService: number): void {
    const { nowMs, usedBytes, flatBytes, ahead, isFull } = state
    const peak = this.#peakWith(inService, nowMs)
    const sinceMs = nowMs - this.#changedAtMs
    const leastRise = Math.max(1, RAISE * this.#most)
    // A burst may be refused between two samples.
    const isMet = inService >= this.#most || this.#metAtMs >= this.#sampledAtMs
    this.#sampledAtMs = nowMs
    this.#carried = this.isSet ? Math.max(this.#carried, inService) : peak
    if (ahead >= markBytes) {
      const grew = usedBytes - this.#usedThen > flatBytes
      if (!this.isSet) this.#set(peak, state)
      else if (grew && sinceMs >= CUT_EVERY_MS) {
        this.#added = 0
        this.#set(Math.min(this.#most, isFull ? inService * CUT_WHEN_FULL : peak * CUT), state)
      } else if (!grew && isMet && sinceMs >= RAISE_WHILE_FLAT_MS) {
        this.#rise(leastRise, state)
      }
    } else if (this.isSet) {
      if (isMet && sinceMs >= RAISE_EVERY_MS) this.#set(this.#most + leastRise, state)
      else if (nowMs - Math.max(this.#metAtMs, this.#changedAtMs) >= FORGET_MS) this.forget()
    }
  }

  /** Up to the number before, memory that the allocator has kept hides what the added requests need. */
  #rise(least: number, state: State): void {
    this.#added = this.#most < this.#carried || state.isFull ? 0 : Math.max(1, 2 * this.#added)
    const most = Math.min(RAISE_FLAT * this.#most, Math.max(this.#added, state.mayAdd))
    this.#set(this.#most + Math.max(least, most), state)
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
