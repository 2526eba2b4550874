/**
 * An entry of the binary min-heap: something due at a time. Entries due at the same time leave in the order of
 * insertion.
 */
interface Item<T> {
  readonly at: number
  readonly order: number
  readonly what: T
}

export class EventHeap<T> {
  readonly #items: Item<T>[] = []
  #order = 0

  get size(): number {
    return this.#items.length
  }

  /** When the next entry is due; Infinity when the heap is empty. */
  get nextAt(): number {
    return this.#items[0]?.at ?? Number.POSITIVE_INFINITY
  }

  push(at: number, what: T): void {
    const items = this.#items
    items.push({ at, order: this.#order++, what })
    for (let i = items.length - 1; i > 0; ) {
      const parent = (i - 1) >> 1
      if (!before(items[i]!, items[parent]!)) break
      swap(items, i, parent)
      i = parent
    }
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (first === undefined || last === undefined) return undefined
    if (items.length > 0) {
      items[0] = last
      this.#sink()
    }
    return first.what
  }

  #sink(): void {
    const items = this.#items
    for (let i = 0; ; ) {
      let least = i
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < items.length && before(items[child]!, items[least]!)) least = child
      }
      if (least === i) return
      swap(items, i, least)
      i = least
    }
  }
}

function before<T>(a: Item<T>, b: Item<T>): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function swap<T>(items: Item<T>[], i: number, j: number): void {
  const held = items[i]!
  items[i] = items[j]!
  items[j] = held
}
