/**
 * Tells whether the lanes keep up. A lane accepts one connection per turn of the loop; so where nearly every lane accepts
 * one in nearly every turn, connections are left behind, and each turn leaves more. Pure: it is told turns and times.
 */

/** Looked at over this long, ms. One full turn is chance, and a burst is over by then. */
const WINDOW_MS = 200
/** Share of its lanes that must have accepted for a turn to be full: the kernel deals connections out by chance. */
const NEARLY_ALL = 0.9
/** Share of full turns from which the lanes do not keep up. */
const MOSTLY = 0.8

export interface Pace {
  readonly behind: boolean
  /** Turns of the loop in the window: so many connections a lane can accept in that time. */
  readonly turns: number
}

export class LanePace {
  #turn = Number.NaN
  #acceptedInTurn = 0
  #fullTurns = 0
  #sinceTurn = 0
  #sinceMs = Number.NEGATIVE_INFINITY

  /** One of `lanes` lanes has accepted a connection. Answers at the end of each window. */
  accepted(nowMs: number, turn: number, lanes: number): Pace | undefined {
    if (turn === this.#turn) {
      this.#acceptedInTurn++
      return undefined
    }
    if (this.#acceptedInTurn >= NEARLY_ALL * lanes) this.#fullTurns++
    this.#turn = turn
    this.#acceptedInTurn = 1
    if (nowMs - this.#sinceMs < WINDOW_MS) return undefined
    const turns = turn - this.#sinceTurn
    // NaN where Node does not number its turns: never behind.
    const pace = { behind: this.#fullTurns > MOSTLY * turns, turns }
    this.#sinceTurn = turn
    this.#sinceMs = nowMs
    this.#fullTurns = 0
    return pace
  }
}
