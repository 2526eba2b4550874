/**
 * Who waits, written down: a list that any entry enters and leaves in O(1), through its place in it. Pure.
 *
 * Not a Set, for what a Set costs that is added to and deleted from all the time (server/in-service.ts).
 */
import type { Waiting } from './queue.ts'

export class Ledger<E extends Waiting> {
  readonly #entries: E[] = []

  get size(): number {
    return this.#entries.length
  }

  add(entry: E): void {
    entry.place = this.#entries.push(entry) - 1
  }

  /** False for whatever is not in it; `entry` may be anything. */
  has(entry: unknown): entry is E {
    return this.#placeOf(entry) !== undefined
  }

  /** Marks it as one who has left. False for whatever is not in it. */
  delete(entry: unknown): entry is E {
    const place = this.#placeOf(entry)
    if (place === undefined) return false
    this.#entries[place]!.left = true
    const last = this.#entries.pop()!
    if (last !== entry) {
      this.#entries[place] = last
      last.place = place
    }
    return true
  }

  /** Takes out everybody, in order of arrival. */
  takeAll(): E[] {
    return this.#entries.splice(0).sort((a, b) => a.arrivedAt - b.arrivedAt)
  }

  #placeOf(entry: unknown): number | undefined {
    try {
      const place = (entry as Partial<Waiting> | null | undefined)?.place
      return place !== undefined && this.#entries[place] === entry ? place : undefined
    } catch {
      return undefined // what a hook hands over may throw when it is looked at
    }
  }
}
