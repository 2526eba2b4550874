/**
 * Answers that are put off: while turning away would take more than its share of the loop's time (turning-away.ts), a
 * request that is shed gets its answer later, in the order they came. Nothing is lost to the client, who was to be told
 * no; but he asks again only when he has been told, and so the requests that must be read and turned away become fewer:
 * each connection brings one per round. What does not come in this way waits where it costs nothing, in the kernel.
 */
import type { TurningAwayTime } from '../../admission/turning-away.ts'
import { now } from '../../clock.ts'
import type { Connection } from '../connection/connection.ts'
import type { Exchange } from '../request/exchange.ts'

/** Answers are given out this often, ms, as far as there is time. */
const EVERY_MS = 5
/** Nobody's answer is put off for longer than this, ms: clients would come again over a new connection, which costs more. */
export const MOST_HELD_MS = 2000
/** The clock is read after so many answers. */
const BATCH = 16

interface Held {
  readonly connection: Connection<Exchange>
  readonly sinceMs: number
}

export class HeldAnswers {
  readonly #time: TurningAwayTime
  readonly #answer: (connection: Connection<Exchange>) => void
  /** Oldest last, behind those that came since it was last turned over. */
  #oldest: Held[] = []
  #newer: Held[] = []
  #timer: NodeJS.Timeout | undefined

  /** `answer` gives a connection the answer it is owed, if it still is. */
  constructor(time: TurningAwayTime, answer: (connection: Connection<Exchange>) => void) {
    this.#time = time
    this.#answer = answer
  }

  hold(connection: Connection<Exchange>, nowMs: number): void {
    this.#newer.push({ connection, sinceMs: nowMs })
    this.#timer ??= setTimeout(this.#giveOut, EVERY_MS).unref()
  }

  /** Gives everybody an answer now. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (let held = this.#next(); held !== undefined; held = this.#next()) this.#answer(held.connection)
  }

  readonly #giveOut = (): void => {
    this.#timer = undefined
    for (let fromMs = now(); ; ) {
      const may = this.#time.hasTime(fromMs)
      for (let given = 0; given < BATCH; given++) {
        const held = this.#next()
        if (held === undefined) return
        if (!may && fromMs - held.sinceMs < MOST_HELD_MS) {
          this.#oldest.push(held)
          this.#timer = setTimeout(this.#giveOut, EVERY_MS).unref()
          return
        }
        this.#answer(held.connection)
      }
      const untilMs = now()
      this.#time.spentAll(fromMs, untilMs)
      fromMs = untilMs
    }
  }

  #next(): Held | undefined {
    if (this.#oldest.length === 0 && this.#newer.length > 0) {
      this.#oldest = this.#newer.reverse()
      this.#newer = []
    }
    return this.#oldest.pop()
  }
}
