/** The usual time between two departures from the queue. Pure. */

/** Minimum number of departures for a pace. */
const DEPARTURES_COUNTED = 8
/** A gap of this many times the usual one is a stall. */
const STALL_GAPS = 20
/** When stalls follow each other at shorter intervals than this, ms, their gaps count as the pace. */
const STALL_EVERY_MS = 500
/** Replaces {@link STALL_EVERY_MS} while the pace is unknown, ms: a slow service leaves long gaps without a stall. */
const FIRST_STALL_EVERY_MS = 3000

/** A mean gap below this share of the usual one counts as faster. */
const FASTER = 0.98
/** Departures speed up after this many faster means in a row; the first measured mean counts as faster. */
const FASTER_IN_A_ROW = 2

/** The pace is sure after this many means, each over at least `leastMs`. */
const SURE = 3

export class DeparturePace {
  readonly #leastMs: number
  gapMs = 0
  #lastAt = 0
  #lastStallAt = Number.NEGATIVE_INFINITY
  #countingSince = 0
  #departures = 0
  #means = 0
  #fasterInARow = 0

  constructor(leastMs: number) {
    this.#leastMs = leastMs
  }

  /** False at first: while a burst arrives, the loop also accepts and parses it, and requests leave more slowly. */
  get isSure(): boolean {
    return this.#means >= SURE
  }

  /**
   * True while departures speed up: waiting requests will take less time than the pace predicts. A process that has
   * just started speeds up for seconds, while V8 compiles its code.
   */
  speedsUp(nowMs: number): boolean {
    return this.#fasterInARow >= FASTER_IN_A_ROW && nowMs - this.#lastAt <= STALL_GAPS * this.gapMs
  }

  /** Called when requests begin to wait. `isNew`: the previous queue, with its pace, has ended. */
  begin(nowMs: number, isNew: boolean): void {
    if (isNew) {
      this.gapMs = 0
      this.#means = 0
      this.#fasterInARow = 0
    }
    this.#lastAt = nowMs
    this.#countFrom(nowMs)
  }

  departed(nowMs: number): void {
    const gapMs = nowMs - this.#lastAt
    this.#lastAt = nowMs
    // One long gap is a stall of the loop and says nothing about the pace. Several long gaps are the pace: a pool
    // became slow, or heavy requests end one by one between many cheap ones.
    const stallEveryMs = this.gapMs > 0 ? STALL_EVERY_MS : FIRST_STALL_EVERY_MS
    if (gapMs > STALL_GAPS * this.gapMs && nowMs - this.#lastStallAt > stallEveryMs) {
      this.#lastStallAt = nowMs
      this.#countFrom(nowMs)
      return
    }
    this.#departures++
    const elapsedMs = nowMs - this.#countingSince
    if (this.#departures < DEPARTURES_COUNTED || elapsedMs < this.#leastMs) return
    const gap = elapsedMs / this.#departures
    this.#means++
    const faster = this.gapMs === 0 || gap < FASTER * this.gapMs
    this.#fasterInARow = faster ? this.#fasterInARow + 1 : 0
    this.gapMs = this.gapMs === 0 ? gap : (this.gapMs + gap) / 2
    this.#countFrom(nowMs)
  }

  #countFrom(nowMs: number): void {
    this.#countingSince = nowMs
    this.#departures = 0
  }
}
