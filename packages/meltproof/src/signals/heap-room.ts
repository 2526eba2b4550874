/**
 * Whether live objects leave too little of the heap, with hysteresis. Judged by what is left after a full collection:
 * between collections a heap is mostly garbage and looks full whenever the collector has had no reason to run. Pure.
 */

/** Above this share of the limit the next requests may be the last: V8 aborts the process at 1. */
export const SHORT_ABOVE = 0.9
/** Below this there is room again. Apart, so that it does not flap. */
export const ROOM_BELOW = 0.8

export class HeapRoom {
  #short = false

  get short(): boolean {
    return this.#short
  }

  /** A full collection has ended with so many bytes in use of the heap's limit. */
  collected(usedBytes: number, limitBytes: number): void {
    const share = usedBytes / limitBytes
    if (share > SHORT_ABOVE) this.#short = true
    else if (share < ROOM_BELOW) this.#short = false
  }
}
