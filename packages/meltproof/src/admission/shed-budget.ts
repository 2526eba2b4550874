/**
 * Limits the loop's time for sheds to about a third while the loop is never idle. Further sheds wait
 * (docs/benchmarks.md shows the gain). Pure.
 *
 * The cost of a shed depends on the machine, and reading and parsing happen before meltproof's code. But under overload
 * sheds follow each other within a turn of the loop, so the time between two is the cost of one.
 */

/** The share of the loop's busy time that sheds may take. At 40 times the capacity, half of this share is enough. */
const SHARE = 0.35
const MOST_CREDIT_MS = 50
const MOST_DEBT_MS = 50
/** Minimum interval at which the loop's busy time is read, ms: reading costs a fifth of a shed. */
const REFILL_MS = 2
/** A loop that is busy for less than this share of the time has idle time, so its sheds are not limited. */
const BUSY = 0.95
/** Maximum cost of one shed, ms: a longer gap between two sheds contains other work. */
const LONGEST_MS = 0.5

export type ShedBudgetLike = Pick<ShedBudget, 'spent' | 'spentAll' | 'interrupted' | 'hasTime'>

export class ShedBudget {
  readonly #busyMs: () => number
  /** Cumulative CPU time of the loop, ms: less than busy time on a shared core. Only CPU time refills the budget. */
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

  spent(nowMs: number, turn: number): void {
    if (turn === this.#lastTurn) this.#take(Math.min(nowMs - this.#lastAt, LONGEST_MS))
    this.#lastTurn = turn
    this.#lastAt = nowMs
  }

  spentAll(fromMs: number, untilMs: number): void {
    this.#take(untilMs - fromMs)
    this.#lastTurn = Number.NaN
  }

  interrupted(): void {
    this.#lastTurn = Number.NaN
  }

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
