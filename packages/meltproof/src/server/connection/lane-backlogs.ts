/**
 * Shortens the backlogs of the lanes while they cannot keep up, so that connections are refused rather than accepted
 * too late. With one connection per request, at 40 times the capacity, this doubles goodput (docs/benchmarks.md).
 */
import { now } from '../../clock.ts'
import { loopTurn } from '../../signals/loop-turn.ts'
import type { ListenHandle } from './listen-socket.ts'

const WINDOW_MS = 200
/** Reading the time and the turn costs a tenth of a connection, so they are read once per this many connections. */
const LOOK_EVERY = 8
/** Lanes are full if they accept this share of one connection per lane and turn: the kernel chooses lanes at random. */
const NEARLY_ALL = 0.85
const WINDOWS_TO_LENGTHEN = 5
const SHORTEST = 2

export class LaneBacklogs {
  readonly #main: ListenHandle
  readonly #lanes: readonly ListenHandle[]
  readonly #longest: number
  readonly #now: () => number
  readonly #turn: () => number
  #backlog: number
  #windowsKeptUp = 0
  #accepted = 0
  #sinceTurn = 0
  #sinceMs = Number.NEGATIVE_INFINITY

  constructor(
    main: ListenHandle,
    lanes: readonly ListenHandle[],
    backlog: number,
    clock: () => number = now,
    turn: () => number = loopTurn,
  ) {
    this.#main = main
    this.#lanes = lanes
    this.#longest = backlog
    this.#backlog = backlog
    this.#now = clock
    this.#turn = turn
  }

  accepted(): void {
    if (++this.#accepted % LOOK_EVERY !== 0) return
    const nowMs = this.#now()
    if (nowMs - this.#sinceMs < WINDOW_MS) return
    const turn = this.#turn()
    this.#windowEnded(turn - this.#sinceTurn)
    this.#sinceTurn = turn
    this.#sinceMs = nowMs
    this.#accepted = 0
  }

  /** @param turns connections that each lane could accept in the window; NaN where Node does not count turns */
  #windowEnded(turns: number): void {
    if (this.#accepted > NEARLY_ALL * this.#lanes.length * turns) {
      this.#windowsKeptUp = 0
      this.#listen(Math.min(this.#longest, Math.max(SHORTEST, turns)))
    } else if (this.#backlog < this.#longest && ++this.#windowsKeptUp >= WINDOWS_TO_LENGTHEN) {
      this.#listen(this.#longest)
    }
  }

  #listen(backlog: number): void {
    this.#backlog = backlog
    for (const lane of [this.#main, ...this.#lanes]) lane.listen(backlog)
  }
}
