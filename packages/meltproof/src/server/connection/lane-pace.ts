/**
 * Tells whether the lanes keep up. A lane accepts one connection per turn of the loop. Where the lanes together accept
 * nearly as many as they can, connections are left behind, and each turn leaves more. Pure.
 */

/** Looked at over this long, ms. One full turn is chance, and a burst is over by then. */
const WINDOW_MS = 200
/** Once for so many connections: asking for turn and time costs a tenth of a connection. */
const LOOK_EVERY = 8
/** Share of all that lanes can accept from which they do not keep up: the kernel deals connections out by chance. */
const NEARLY_ALL = 0.85

export interface Pace {
  readonly behind: boolean
  /** Turns of the loop in the window: so many connections a lane can accept in that time. */
  readonly turns: number
}

export class LanePace {
  readonly #now: () => number
  readonly #turn: () => number
  #accepted = 0
  #sinceTurn = 0
  #sinceMs = Number.NEGATIVE_INFINITY

  constructor(now: () => number, turn: () => number) {
    this.#now = now
    this.#turn = turn
  }

  /** One of `lanes` lanes has accepted a connection. Answers at the end of each window. */
  accepted(lanes: number): Pace | undefined {
    if (++this.#accepted % LOOK_EVERY !== 0) return undefined
    const nowMs = this.#now()
    if (nowMs - this.#sinceMs < WINDOW_MS) return undefined
    const turn = this.#turn()
    const turns = turn - this.#sinceTurn
    // NaN where Node does not number its turns: never behind.
    const pace = { behind: this.#accepted > NEARLY_ALL * lanes * turns, turns }
    this.#sinceTurn = turn
    this.#sinceMs = nowMs
    this.#accepted = 0
    return pace
  }
}
