/**
 * A doubly linked list through its items, in order of arrival, O(1) for each operation. Not a Set: the old tables of a
 * Set that changes with every request keep dead requests alive in V8's old space, which cost 10 to 20 % of the CPU with
 * short requests.
 */

/** An item is in one list at most. */
export interface Linked<T> {
  before: T | undefined
  after: T | undefined
}

export class LinkedList<T extends Linked<T>> {
  #first: T | undefined
  #last: T | undefined

  add(item: T): void {
    item.before = this.#last
    if (this.#last === undefined) this.#first = item
    else this.#last.after = item
    this.#last = item
  }

  /** Removes an item. Does nothing if it is not in the list. */
  delete(item: T): void {
    const { before, after } = item
    if (before === undefined && this.#first !== item) return
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    item.before = undefined
    item.after = undefined
  }

  /** Iterates the items; the current one may be removed meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (let at = this.#first; at !== undefined; ) {
      const next = at.after
      yield at
      at = next
    }
  }

  /** The items for which `wanted` is true, oldest first, up to the first for which `until` is true. */
  find(wanted: (item: T) => boolean, until: (item: T) => boolean = () => false): T[] {
    const found: T[] = []
    for (let at = this.#first; at !== undefined && !until(at); at = at.after) if (wanted(at)) found.push(at)
    return found
  }
}
