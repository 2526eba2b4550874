/** Limits how much runs at once. The rest waits, and can be taken back. Pure. */

export type Begin = (done: () => void) => void

export class Semaphore {
  readonly #most: () => number
  #underWay = 0
  readonly #waiting = new Set<{ readonly begin: Begin }>()

  constructor(most: () => number) {
    this.#most = most
  }

  /** Begins now or in its turn. Returns a function that takes it back: true if it had not begun. */
  take(begin: Begin): () => boolean {
    const waiting = { begin }
    this.#waiting.add(waiting)
    this.#next()
    return () => this.#waiting.delete(waiting)
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      if (this.#underWay >= this.#most()) return
      this.#waiting.delete(waiting)
      this.#underWay++
      waiting.begin(() => {
        this.#underWay--
        this.#next()
      })
    }
  }
}
