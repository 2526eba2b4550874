/**
 * Counts answers, weighted by their service time. Slow answers count most: they use most of a scarce resource, and
 * admission decides how many quick ones start among them. Pure.
 */

interface Sums {
  /** Number of answers. */
  readonly all: number
  /** Sum of their times, ms, and of the squares of these; `...Lost`: what rounding has taken from the sum. */
  readonly ms: number
  readonly msLost: number
  readonly squares: number
  readonly squaresLost: number
}

/**
 * Sums to which each answer is added once. Every {@link Answers} takes differences of them, which stay exact for years
 * because rounding errors are summed, too (Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
 */
export class Answered implements Sums {
  all = 0
  ms = 0
  msLost = 0
  squares = 0
  squaresLost = 0

  add(tookMs: number): void {
    const ms = this.ms + tookMs
    const addedMs = ms - this.ms
    this.msLost += this.ms - (ms - addedMs) + (tookMs - addedMs)
    const square = tookMs * tookMs
    const squares = this.squares + square
    const addedSquare = squares - this.squares
    this.squaresLost += this.squares - (squares - addedSquare) + (square - addedSquare)
    this.all++
    this.ms = ms
    this.squares = squares
  }
}

/** The answers since the last {@link restart}. */
export class Answers {
  readonly #now: Sums
  #then: Sums

  constructor(answered: Sums) {
    this.#now = answered
    this.#then = { ...answered }
  }

  restart(): void {
    this.#then = { ...this.#now }
  }

  /** Number of answers, without weights. */
  get all(): number {
    return this.#now.all - this.#then.all
  }

  get #ms(): number {
    return this.#now.ms - this.#then.ms + (this.#now.msLost - this.#then.msLost)
  }

  get #squares(): number {
    return this.#now.squares - this.#then.squares + (this.#now.squaresLost - this.#then.squaresLost)
  }

  /** Effective number: (sum of times)^2 / sum of squares (Kish, Survey Sampling, 1965); `all` if times are equal. */
  get count(): number {
    const squares = this.#squares
    return squares === 0 ? 0 : this.#ms ** 2 / squares
  }

  get meanMs(): number {
    return this.#ms / Math.max(this.all, 1)
  }

  /** Mean weighted by service time, ms: the service time of the answers that use most of the time. */
  get heavyMs(): number {
    const ms = this.#ms
    return ms === 0 ? 0 : this.#squares / ms
  }
}
