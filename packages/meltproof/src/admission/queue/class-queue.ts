/** A queue for each class of requests, the best class first. */
import { type Waiting, WaitQueue } from './wait-queue.ts'

export class ClassQueue<E extends Waiting> {
  readonly #queues: readonly WaitQueue<E>[]
  size = 0

  constructor(classes: number) {
    this.#queues = Array.from({ length: classes }, () => new WaitQueue<E>())
  }

  sizeThrough(which: number): number {
    let size = 0
    for (let i = 0; i <= which; i++) size += this.#queues[i]!.size
    return size
  }

  push(entry: E, which: number): void {
    this.#queues[which]!.push(entry)
    this.size++
  }

  oldest(): E | undefined {
    let oldest: E | undefined
    for (const queue of this.#queues) {
      const entry = queue.oldest()
      if (entry !== undefined && (oldest === undefined || entry.arrivedAt < oldest.arrivedAt)) oldest = entry
    }
    return oldest
  }

  takeOldest(): E | undefined {
    const oldest = this.oldest()
    if (oldest !== undefined) this.remove(oldest, oldest.priorityClass!)
    return oldest
  }

  takeBest(end: 'oldest' | 'newest'): E | undefined {
    for (const queue of this.#queues) {
      if (queue.size === 0) continue
      this.size--
      return end === 'oldest' ? queue.takeOldest() : queue.takeNewest()
    }
    return undefined
  }

  worstClass(): number {
    let which = this.#queues.length - 1
    while (which >= 0 && this.#queues[which]!.size === 0) which--
    return which
  }

  takeOldestOf(which: number): E | undefined {
    const entry = this.#queues[which]?.takeOldest()
    if (entry !== undefined) this.size--
    return entry
  }

  remove(entry: E, which: number): boolean {
    const removed = this.#queues[which]!.remove(entry)
    if (removed) this.size--
    return removed
  }
}
