/** Envoy's scheduler for weighted round robin: the server that has waited longest for its share is next. */
import type { Random } from '../../random.ts'
import { EventHeap } from '../../event-heap.ts'

export class EarliestDeadline<T> {
  readonly #queue = new EventHeap<{ readonly what: T; readonly weight: number }>()

  /** Each server starts at a random point of its interval, as if the scheduler had already run for a while. */
  constructor(all: readonly (readonly [what: T, weight: number])[], random: Random) {
    for (const [what, weight] of all) this.#queue.push(random.next() / weight, { what, weight })
  }

  next(): T | undefined {
    const at = this.#queue.nextAt
    const first = this.#queue.pop()
    if (first === undefined) return undefined
    this.#queue.push(at + 1 / first.weight, first)
    return first.what
  }
}
