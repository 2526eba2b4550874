/**
 * Decides whether the heap has too little room, from what full collections leave. Pure.
 *
 * V8 aborts the process when the old generation reaches its limit; before that full collections follow each other and
 * free almost nothing. Node 24 thrashes from about 65 % on (--max-old-space-size=256, measured). So a heap is short
 * when it is nearly full, or when it is half full and the process does little but collect garbage.
 */

const SHORT_ABOVE = 0.85
const THRASHING_ABOVE = 0.5
const THRASHING_COLLECTIONS = 5
const THRASHING_MS = 100
/** There is room again when live objects fall below this share of what they were, to prevent flapping. */
const ROOM_BELOW = 0.85

export class HeapRoom {
  short = false
  #shortAtBytes = 0
  readonly #recent: number[] = []

  collected(usedBytes: number, limitBytes: number, nowMs: number): void {
    if (this.#recent.push(nowMs) > THRASHING_COLLECTIONS) this.#recent.shift()
    const thrashing = this.#recent.length === THRASHING_COLLECTIONS && nowMs - this.#recent[0]! <= THRASHING_MS
    const share = usedBytes / limitBytes
    if (this.short) this.short = usedBytes >= this.#shortAtBytes * ROOM_BELOW
    else if (share > SHORT_ABOVE || (thrashing && share > THRASHING_ABOVE)) {
      this.short = true
      this.#shortAtBytes = usedBytes
    }
  }
}
