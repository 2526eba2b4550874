/** A pool of connections to something downstream. It runs `size` calls at once, and the others wait in order. */
export class Pool {
  #free: number
  #waiting: (() => void)[] = []
  #head = 0

  constructor(size: number) {
    this.#free = size
  }

  /** Calls `use` once a connection is free, and holds it until release(). */
  acquire(use: () => void): void {
    if (this.#free === 0) {
      this.#waiting.push(use)
      return
    }
    this.#free--
    use()
  }

  release(): void {
    const next = this.#waiting[this.#head]
    if (next === undefined) {
      this.#free++
      return
    }
    if (++this.#head > 4096) {
      this.#waiting.splice(0, this.#head)
      this.#head = 0
    }
    next()
  }
}
