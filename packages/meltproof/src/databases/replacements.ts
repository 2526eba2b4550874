/**
 * How many connections of a pool may be replaced at once. A connection that is given up leaves a query at the server that
 * may run on, and the connection made in its place is one more. A pool that replaced all of its connections every few
 * seconds would soon have a hundred queries at work that nobody waits for. So only a quarter is replaced at a time; the
 * others keep their place in the pool.
 */
import { startFairTimer } from '../deadline/fair-timer.ts'
import { Turns } from './turns.ts'

const SHARE = 0.25
/** For how long one counts as being replaced, ms: until the new connection is at work and the old query is likely over. */
const REPLACING_MS = 5000

export class Replacements {
  readonly #turns: Turns

  /** @param size how many connections the pool may have */
  constructor(size: () => number) {
    this.#turns = new Turns(() => Math.max(1, Math.floor(size() * SHARE)))
  }

  /** Calls `replace` now or when it may. Returns a function that takes the wish back. */
  ask(replace: () => void): () => boolean {
    return this.#turns.take(done => {
      startFairTimer(REPLACING_MS, done)
      replace()
    })
  }
}
