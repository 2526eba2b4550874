/**
 * Writes one group at a time. Requests that arrive during a write form the next group, so groups grow with the load.
 */
export class GroupCommit {
  readonly #write: (parts: number, done: () => void) => void
  #waiting: (() => void)[] = []
  #writing = false

  /** `write` calls `done` when it has written the group. */
  constructor(write: (parts: number, done: () => void) => void) {
    this.#write = write
  }

  /** Calls back once the group that includes this request is written. */
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
