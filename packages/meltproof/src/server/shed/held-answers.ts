/**
 * Delays 503 answers when shedding would take more than its share of the loop's time (shed-budget.ts). A client sends
 * its next request only after its 503, so fewer requests must be read and shed. At 300 times the capacity this raises
 * goodput from 5 % to 61 % of the capacity (docs/benchmarks.md).
 */
import { clearTimeout, setTimeout } from 'node:timers'
import type { ShedBudgetLike } from '../../admission/shed-budget.ts'
import { now } from '../../clock.ts'
import type { Connection } from '../connection/connection.ts'
import type { Exchange } from '../request/exchange.ts'

/** Interval at which delayed answers are written, ms. */
const EVERY_MS = 5
/** Maximum delay, ms. After a longer one clients would retry over new connections, which cost more. */
export const MOST_HELD_MS = 2000
const BATCH = 16

export class HeldAnswers {
  readonly #time: ShedBudgetLike
  readonly #answer: (connection: Connection<Exchange>) => void
  /** Connections whose answers are delayed, and since when, ms; oldest first. */
  readonly #held = new Map<Connection<Exchange>, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(time: ShedBudgetLike, answer: (connection: Connection<Exchange>) => void) {
    this.#time = time
    this.#answer = answer
  }

  hold(connection: Connection<Exchange>, nowMs: number): void {
    this.#held.set(connection, nowMs)
    this.#timer ??= setTimeout(this.#giveOut, EVERY_MS).unref()
  }

  delete(connection: Connection<Exchange>): void {
    this.#held.delete(connection)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const connection of this.#held.keys()) this.#answer(connection)
  }

  readonly #giveOut = (): void => {
    this.#timer = undefined
    let fromMs = now()
    let may = this.#time.hasTime(fromMs)
    let given = 0
    for (const [connection, sinceMs] of this.#held) {
      if (!may && fromMs - sinceMs < MOST_HELD_MS) break
      this.#answer(connection)
      if (++given % BATCH !== 0) continue
      const untilMs = now()
      this.#time.spentAll(fromMs, untilMs)
      may = this.#time.hasTime(untilMs)
      fromMs = untilMs
    }
    if (this.#held.size > 0) this.#timer = setTimeout(this.#giveOut, EVERY_MS).unref()
  }
}
