/** A double-ended queue from which any entry can leave early, in O(1). */

export interface Waiting {
  arrivedAt: number
  dequeued: boolean
  /** Written by the queue; `level` (criticality.ts) only where requests have levels. */
  level?: number
  priorityClass?: number
  overtakesThen?: number
}

/** An entry removed from the middle stays as a tombstone until it is at one end, so each step is O(1) amortised. */
export class WaitQueue<E extends Waiting> {
  #ring: (E | undefined)[] = new Array(64)
  #head = 0 // Index of the oldest.
  #slots = 0 // Occupied slots, including tombstones.
  /** Entries still waiting. */
  size = 0

  push(entry: E): void {
    if (this.#slots === this.#ring.length) this.#makeRoom()
    this.#ring[(this.#head + this.#slots) & (this.#ring.length - 1)] = entry
    this.#slots++
    this.size++
  }

  oldest(): E | undefined {
    while (this.#slots > 0) {
      const entry = this.#ring[this.#head]!
      if (!entry.dequeued) return entry
      this.#dropHead()
    }
    return undefined
  }

  takeOldest(): E | undefined {
    const entry = this.oldest()
    if (entry === undefined) return undefined
    this.#dropHead()
    this.#dequeue(entry)
    return entry
  }

  takeNewest(): E | undefined {
    const mask = this.#ring.length - 1
    while (this.#slots > 0) {
      const index = (this.#head + this.#slots - 1) & mask
      const entry = this.#ring[index]!
      this.#ring[index] = undefined
      this.#slots--
      if (entry.dequeued) continue
      this.#dequeue(entry)
      return entry
    }
    return undefined
  }

  remove(entry: E): boolean {
    if (entry.dequeued) return false
    this.#dequeue(entry)
    return true
  }

  #dequeue(entry: E): void {
    entry.dequeued = true
    this.size--
  }

  #dropHead(): void {
    this.#ring[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#ring.length - 1)
    this.#slots--
  }

  /** Removes the tombstones. If they fill less than half of the ring, also doubles the ring. */
  #makeRoom(): void {
    const live: E[] = []
    const mask = this.#ring.length - 1
    for (let i = 0; i < this.#slots; i++) {
      const entry = this.#ring[(this.#head + i) & mask]!
      if (!entry.dequeued) live.push(entry)
    }
    const length = live.length > this.#ring.length / 2 ? this.#ring.length * 2 : this.#ring.length
    const ring = new Array<E | undefined>(length)
    for (let i = 0; i < live.length; i++) ring[i] = live[i]
    this.#ring = ring
    this.#head = 0
    this.#slots = live.length
  }
}
