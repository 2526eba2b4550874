/** A first-in first-out queue in a ring that doubles when full: no allocation and no shifting in steady state. Pure. */
export class Fifo<T> {
  #slots: (T | undefined)[] = new Array(16).fill(undefined)
  #head = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  peek(): T | undefined {
    return this.#length === 0 ? undefined : this.#slots[this.#head]
  }

  push(item: T): void {
    if (this.#length === this.#slots.length) this.#grow()
    this.#slots[(this.#head + this.#length) & (this.#slots.length - 1)] = item
    this.#length++
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined
    const item = this.#slots[this.#head]
    this.#slots[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#slots.length - 1)
    this.#length--
    return item
  }

  pop(): T | undefined {
    if (this.#length === 0) return undefined
    this.#length--
    const at = (this.#head + this.#length) & (this.#slots.length - 1)
    const item = this.#slots[at]
    this.#slots[at] = undefined
    return item
  }

  #grow(): void {
    const old = this.#slots
    const next: (T | undefined)[] = new Array(old.length * 2).fill(undefined)
    for (let at = 0; at < this.#length; at++) next[at] = old[(this.#head + at) & (old.length - 1)]
    this.#slots = next
    this.#head = 0
  }
}
