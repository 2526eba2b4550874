/** One write at a time, and whoever comes meanwhile is part of the next: the busier it gets the larger the writes are. */
export class GroupCommit {
  readonly #write: (parts: number, done: () => void) => void
  #waiting: (() => void)[] = []
  #writing = false

  /** `write` calls `done` when a write of so many is over. */
  constructor(write: (parts: number, done: () => void) => void) {
    this.#write = write
  }

  /** Calls back once the write that this is part of is over. */
  add(written: () => void): void {
    this.#waiting.push(written)
    if (!this.#writing) this.#writeAll()
  }

  #writeAll(): void {
    const group = this.#waiting
    this.#writing = group.length > 0
    if (!this.#writing) return
    this.#waiting = []
    this.#write(group.length, () => {
      this.#writeAll()
      for (const written of group) written()
    })
  }
}
