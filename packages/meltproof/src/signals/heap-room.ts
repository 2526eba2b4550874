/**
 * Limits the requests in service while full collections leave too little room in the heap. Pure.
 *
 * V8 aborts the process when the old generation reaches its limit; before that, full collections follow each other and
 * free almost nothing. Node 24 thrashes from about 65 % on (--max-old-space-size=256, measured). So a heap is short
 * when it is nearly full, or when it is half full and the process does little but collect garbage.
 *
 * A cache may fill the heap permanently, and sheds would not empty it. So requests are limited only while live objects
 * grow within seconds, first to the highest recent number in service, and the limit rises again when growth ends.
 */

const SHORT_ABOVE = 0.85
const THRASHING_ABOVE = 0.5
const THRASHING_COLLECTIONS = 5
const THRASHING_MS = 100
/** Growth is measured from the lowest use after the collections of this time, ms, of which at most this many count. */
const GROWTH_MS = 10_000
const GROWTH_COLLECTIONS = 64
/** Growth as a share of the heap's limit: the first limits requests, the second, per collection, halves their limit. */
const GREW_SHARE = 0.03
const GROWS_SHARE = 0.01
/** Near the limit, less growth is enough: the two shares then refer to this multiple of the remaining room. */
const ROOM_TIMES = 10
/**
 * The limit is dropped when live objects fall below this share of their size when the limit last changed. With a share
 * near 1 the limit would begin and end again and again.
 */
const ROOM_BELOW = 0.85
const CUT = 0.5
const RAISE = 1.5
const RAISE_EVERY_MS = 500
/** More requests are admitted if V8 has not collected for twice its last interval, within these bounds, ms. */
const FORGET_MS = { least: 1000, most: 10_000 }

export interface Collection {
  readonly nowMs: number
  /** Live memory in the old generation. */
  readonly usedBytes: number
  readonly limitBytes: number
  /** Maximum number of requests in service since the previous collection. */
  readonly inService: number
}

export class HeapRoom {
  /** Infinity without a limit. A field, because it is read for every request. */
  most: number = Number.POSITIVE_INFINITY
  #isReached = false
  #setAtMs = 0
  #shortAtBytes = 0
  #pressedUntilMs = 0
  /** Collections of the last GROWTH_MS, the latest one last. */
  #recent: readonly Collection[] = []

  /** True if {@link refuses} could return true. */
  get isShort(): boolean {
    return this.most !== Number.POSITIVE_INFINITY
  }

  /** True if a request that arrives now must be shed. One request is always admitted. */
  refuses(inService: number, nowMs: number): boolean {
    if (inService < this.most) return false
    if (nowMs > this.#pressedUntilMs) this.#admitMore(nowMs)
    this.#isReached = true
    return inService >= this.most
  }

  /** Called when V8 has not collected for a while. It may have no need to, because the limit admits no request. */
  #admitMore(nowMs: number): void {
    const { usedBytes, limitBytes } = this.#recent.at(-1)!
    if (usedBytes <= SHORT_ABOVE * limitBytes) this.#forget()
    else {
      this.most = Math.ceil(RAISE * this.most)
      this.#pressedUntilMs = nowMs + RAISE_EVERY_MS
    }
  }

  /** Called after each full collection. */
  collected(collection: Collection): void {
    const { nowMs, usedBytes, inService } = collection
    const before = this.#recent.at(-1)
    const forgetMs = Math.max(FORGET_MS.least, Math.min(2 * (nowMs - (before?.nowMs ?? nowMs)), FORGET_MS.most))
    this.#pressedUntilMs = nowMs + forgetMs
    const recent = this.#recent.filter(each => nowMs - each.nowMs <= GROWTH_MS)
    const leastBytes = Math.min(...recent.map(each => each.usedBytes))
    this.#recent = [...recent, collection].slice(-GROWTH_COLLECTIONS)
    const first = this.#recent.at(-THRASHING_COLLECTIONS)
    const thrashes = first !== undefined && nowMs - first.nowMs <= THRASHING_MS
    const isFull = usedBytes > (thrashes ? THRASHING_ABOVE : SHORT_ABOVE) * collection.limitBytes
    if (!this.isShort) {
      if (isFull && (thrashes || hasGrown(collection, leastBytes, GREW_SHARE))) this.#set(inService, collection)
    } else if (usedBytes < ROOM_BELOW * this.#shortAtBytes) this.#forget()
    else if (isFull && hasGrown(collection, before!.usedBytes, GROWS_SHARE)) {
      this.#set(CUT * Math.min(this.most, inService), collection)
    } else if (nowMs - this.#setAtMs >= RAISE_EVERY_MS) {
      if (this.#isReached) this.#set(RAISE * this.most, collection)
      else this.#forget()
    }
  }

  #set(most: number, { nowMs, usedBytes }: Collection): void {
    this.most = Math.max(1, Math.ceil(most))
    this.#isReached = false
    this.#setAtMs = nowMs
    this.#shortAtBytes = usedBytes
  }

  #forget(): void {
    this.most = Number.POSITIVE_INFINITY
  }
}

function hasGrown({ usedBytes, limitBytes }: Collection, fromBytes: number, share: number): boolean {
  const roomBytes = Math.max(0, limitBytes - usedBytes)
  return usedBytes - fromBytes > share * Math.min(limitBytes, ROOM_TIMES * roomBytes)
}
