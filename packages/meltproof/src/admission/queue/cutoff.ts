/**
 * Finds the highest level that is admitted while there is a standing queue: the arrivals up to that level match the
 * departures. This is DAGOR's histogram and prefix sum (SoCC 2018), with the measured pace of departures instead of
 * fixed steps. Pure.
 */
import { LEVELS } from './criticality.ts'

/** Minimum time, ms, and minimum departures for a new cutoff: with fewer, chance would move it. */
const WINDOW_MS = 250
const WINDOW_DEPARTURES = 16
/**
 * Each window keeps this share of earlier counts, a memory of about ten windows, so that users do not alternate between
 * admitted and shed.
 */
const KEPT = 0.9
/** Share of the departures that the cutoff fills. Requests of any level fill the rest when a permit is free. */
const SUPPLY = 0.97
/** The cutoff stays while the arrivals up to it are between these shares of the wanted number. */
const TOO_FEW = 0.95
const TOO_MANY = 1.08

const OPEN: number = LEVELS - 1

export class Cutoff {
  readonly #arrived = new Float64Array(LEVELS)
  #departed = 0
  #departedInWindow = 0
  #windowStart = 0
  level: number = OPEN

  get isSet(): boolean {
    return this.level < OPEN
  }

  reset(nowMs: number): void {
    this.#arrived.fill(0)
    this.#departed = 0
    this.#departedInWindow = 0
    this.#windowStart = nowMs
    this.level = OPEN
  }

  arrived(level: number): boolean {
    this.#arrived[level]!++
    return level <= this.level
  }

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
    let below = 0 // Arrivals on lower levels, which matter more.
    let upToLevel = 0
    let cutoffLevel = -1
    for (let level = 0; level < LEVELS; level++) {
      const upTo = below + this.#arrived[level]!
      if (level === this.level) upToLevel = upTo
      // The level that reaches the wanted number is still admitted: the queue decides among its requests.
      if (cutoffLevel < 0 && upTo >= wanted) cutoffLevel = level
      below = upTo
    }
    if (cutoffLevel < 0) this.level = OPEN
    else if (this.level === OPEN || upToLevel < TOO_FEW * wanted || upToLevel > TOO_MANY * wanted)
      this.level = cutoffLevel
  }
}
