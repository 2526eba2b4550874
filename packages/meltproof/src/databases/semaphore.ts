/** Limits how many tasks run at the same time. The others wait, and can be withdrawn. Pure. */

type Begin = (done: () => void) => void

export class Semaphore {
  readonly #most: () => number
  #underWay = 0
  readonly #waiting = new Set<{ readonly begin: Begin }>()

  constructor(most: () => number) {
    this.#most = most
  }

  /** Runs `begin` now or when its turn comes. Returns a function that withdraws it: true if it had not begun. */
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
