/**
 * How much of the loop's time goes into turning away, and how much may: a third of a loop that never rests, and whatever it
 * needs of one that does. What it needs beyond that has to wait (docs/benchmarks.md says what this is worth). Pure.
 *
 * What one shed costs belongs to the machine, and reading and parsing come before we are asked. But under overload sheds
 * come one after the other within a turn of the loop, so the time between two of them is the cost of one.
 */

/** Of the time the loop works. At forty times the capacity of a service of 5 ms half of it is enough. */
const SHARE = 0.35
/** Time that was not used is good for a burst later, ms. */
const MOST_CREDIT_MS = 50
const MOST_DEBT_MS = 50
/** How long the loop has worked is asked no more often, ms: it costs a fifth of a shed. */
const REFILL_MS = 2
/** A loop that works less than this share of the time rests. */
const BUSY = 0.95
/** What takes longer is something else, ms. */
const LONGEST_MS = 0.5

export type TurningAwayTime = Pick<TurningAway, 'spent' | 'spentAll' | 'interrupted' | 'hasTime'>

export class TurningAway {
  /** Time the loop has spent working, ever; ms. */
  readonly #busyMs: () => number
  /** CPU it has used, ever; ms. On a core that others share this is less, and all there is to share out. */
  readonly #cpuMs: () => number
  #creditMs = MOST_CREDIT_MS
  #refilledAt = 0
  #busyThen = 0
  #cpuThen = 0
  #lastTurn = Number.NaN
  #lastAt = 0

  constructor(busyMs: () => number, cpuMs: () => number = busyMs) {
    this.#busyMs = busyMs
    this.#cpuMs = cpuMs
  }

  /** Another request was turned away, or another connection accepted, in this turn of the loop. */
  spent(nowMs: number, turn: number): void {
    if (turn === this.#lastTurn) this.#take(Math.min(nowMs - this.#lastAt, LONGEST_MS))
    this.#lastTurn = turn
    this.#lastAt = nowMs
  }

  /** Between `fromMs` and `untilMs` nothing else was done. */
  spentAll(fromMs: number, untilMs: number): void {
    this.#take(untilMs - fromMs)
    this.#lastTurn = Number.NaN
  }

  /** A handler runs: the time until the next one is turned away is not spent on that. */
  interrupted(): void {
    this.#lastTurn = Number.NaN
  }

  /** Whether there is time for more of it. */
  hasTime(nowMs: number): boolean {
    if (nowMs - this.#refilledAt >= REFILL_MS) this.#refill(nowMs)
    return this.#creditMs > 0
  }

  #take(ms: number): void {
    this.#creditMs = Math.max(-MOST_DEBT_MS, this.#creditMs - ms)
  }

  #refill(nowMs: number): void {
    const elapsedMs = nowMs - this.#refilledAt
    const busy = this.#busyMs()
    const cpu = this.#cpuMs()
    const busyForMs = Math.min(elapsedMs, busy - this.#busyThen)
    const hadMs = Math.min(busyForMs, cpu - this.#cpuThen)
    this.#refilledAt = nowMs
    this.#busyThen = busy
    this.#cpuThen = cpu
    const rests = busyForMs < BUSY * elapsedMs
    this.#creditMs = rests ? MOST_CREDIT_MS : Math.min(MOST_CREDIT_MS, this.#creditMs + hadMs * SHARE)
  }
}
