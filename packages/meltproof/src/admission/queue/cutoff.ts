/**
 * Up to which level requests are let in while a queue stands. Counts what arrives by level and what leaves, and draws
 * the line where the levels above it just fill what leaves: DAGOR's histogram and prefix sum (SoCC 2018), with the
 * measured pace of departures in place of its blind steps. Pure.
 */
import { LEVELS } from './criticality.ts'

/** A line is drawn over no less than this, ms, and this many departures: fewer would move it by chance. */
const WINDOW_MS = 250
const WINDOW_DEPARTURES = 16
/** What earlier windows still count for: a memory of about ten windows, so that users near the line do not flap. */
const KEPT = 0.9
/**
 * Let in by right so much of what leaves. Not all: whenever nobody waits and a permit is free, any level starts, so the
 * rest is filled by whoever comes, while those above the line hardly ever lose to chance.
 */
const SUPPLY = 0.97
/** A line that still lets in between this and that share of what is wanted stays where it is. */
const TOO_FEW = 0.95
const TOO_MANY = 1.08

/** Everybody is let in. */
const OPEN: number = LEVELS - 1

export class Cutoff {
  readonly #arrived = new Float64Array(LEVELS)
  #departed = 0
  #departedInWindow = 0
  #windowStart = 0
  #line: number = OPEN

  get line(): number {
    return this.#line
  }

  /** False while everybody is let in. */
  get drawn(): boolean {
    return this.#line < OPEN
  }

  /** There is no overload any more. */
  open(nowMs: number): void {
    this.#arrived.fill(0)
    this.#departed = 0
    this.#departedInWindow = 0
    this.#windowStart = nowMs
    this.#line = OPEN
  }

  /** Somebody of this level came while others wait. True when he is above the line or on it. */
  arrived(level: number): boolean {
    this.#arrived[level]!++
    return level <= this.#line
  }

  /** Somebody left service while others wait. Draws the line anew when the window is full. */
  departed(nowMs: number): void {
    this.#departedInWindow++
    if (this.#departedInWindow < WINDOW_DEPARTURES || nowMs - this.#windowStart < WINDOW_MS) return
    this.#departed += this.#departedInWindow
    this.#draw(this.#departed * SUPPLY)
    for (let level = 0; level < LEVELS; level++) this.#arrived[level]! *= KEPT
    this.#departed *= KEPT
    this.#departedInWindow = 0
    this.#windowStart = nowMs
  }

  #draw(wanted: number): void {
    let below = 0 // of those on better levels than the one looked at
    let upToLine = 0
    let drawn = -1
    for (let level = 0; level < LEVELS; level++) {
      const upTo = below + this.#arrived[level]!
      if (level === this.#line) upToLine = upTo
      // The level that straddles what is wanted is let in: the queue decides among its requests.
      if (drawn < 0 && upTo >= wanted) drawn = level
      below = upTo
    }
    if (drawn < 0) this.#line = OPEN
    else if (this.#line === OPEN || upToLine < TOO_FEW * wanted || upToLine > TOO_MANY * wanted) this.#line = drawn
  }
}
