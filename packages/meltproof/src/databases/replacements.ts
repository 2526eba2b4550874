/**
 * How many connections of a pool may be replaced at once. Whoever is given up leaves a query at the server that may run
 * on, and the connection made in its place is one more; a pool that replaced all of its connections every few seconds
 * would soon have a hundred queries at work that nobody waits for. So only a quarter of the pool is replaced at a time,
 * and who has to wait keeps its place in the pool.
 */
import { startFairTimer } from '../deadline/fair-timer.ts'

const SHARE = 0.25
/** For how long one counts as being replaced, ms: until the new connection is at work and the old query is likely over. */
const REPLACING_MS = 5000

export class Replacements {
  readonly #size: () => number
  #underWay = 0
  readonly #waiting = new Set<() => void>()

  /** @param size how many connections the pool may have */
  constructor(size: () => number) {
    this.#size = size
  }

  /** Calls `replace` now or when it may. Returns a function that takes the wish back. */
  ask(replace: () => void): () => void {
    this.#waiting.add(replace)
    this.#next()
    return () => void this.#waiting.delete(replace)
  }

  #next(): void {
    for (const replace of this.#waiting) {
      if (this.#underWay >= Math.max(1, Math.floor(this.#size() * SHARE))) return
      this.#waiting.delete(replace)
      this.#underWay++
      startFairTimer(REPLACING_MS, () => {
        this.#underWay--
        this.#next()
      })
      replace()
    }
  }
}
