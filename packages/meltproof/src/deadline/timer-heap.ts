/** A binary heap of timers, ordered by due time. Entries know their slot, so that any entry can be removed. Pure. */

export interface HeapEntry {
  dueMs: number
  slot: number
}

export class TimerHeap<E extends HeapEntry> {
  readonly #entries: E[] = []

  get size(): number {
    return this.#entries.length
  }

  get first(): E | undefined {
    return this.#entries[0]
  }

  add(entry: E): void {
    this.#entries.push(entry)
    this.#rise(entry, this.#entries.length - 1)
  }

  /** Removes an entry; ignores one that is not in the heap. */
  remove(entry: E): void {
    const { slot } = entry
    if (slot < 0) return
    entry.slot = -1
    const last = this.#entries.pop()!
    if (last === entry) return
    if (!this.#rise(last, slot)) this.#sink(last, slot)
  }

  #rise(entry: E, from: number): boolean {
    const entries = this.#entries
    let slot = from
    while (slot > 0) {
      const above = (slot - 1) >> 1
      const parent = entries[above]!
      if (parent.dueMs <= entry.dueMs) break
      entries[slot] = parent
      parent.slot = slot
      slot = above
    }
    entries[slot] = entry
    entry.slot = slot
    return slot < from
  }

  #sink(entry: E, from: number): void {
    const entries = this.#entries
    const size = entries.length
    let slot = from
    for (;;) {
      let below = 2 * slot + 1
      if (below >= size) break
      if (below + 1 < size && entries[below + 1]!.dueMs < entries[below]!.dueMs) below++
      const child = entries[below]!
      if (child.dueMs >= entry.dueMs) break
      entries[slot] = child
      child.slot = slot
      slot = below
    }
    entries[slot] = entry
    entry.slot = slot
  }
}
