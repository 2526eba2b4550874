import { nextTick } from 'node:process'
import { Budget } from '../deadline/budget.ts'
import { openBudget } from '../deadline/context.ts'
import { startFairTimer } from '../deadline/fair-timer.ts'
import { Cancellations } from './cancellations.ts'
import { ConnectionLine, type ConnectionSource } from './connection-line.ts'
import { Turns } from './turns.ts'

/**
 * How much of a pool may be replaced at once. A connection that is given up leaves a query at the server that may run
 * on: a pool that replaced all of them every few seconds would soon have a hundred queries at work that nobody waits
 * for.
 */
const REPLACED_SHARE = 0.25
/** For how long one counts as being replaced, ms. */
const REPLACING_MS = 5000

export interface PoolSource<Connection> extends ConnectionSource<Connection> {
  readonly database: string
  size(): number
  waiting(): number
}

export class BoundPool<Connection> {
  readonly line: ConnectionLine<Connection>
  readonly cancellations: Cancellations = new Cancellations()
  readonly #replacements: Turns
  readonly #database: string
  readonly #acquireMs: number

  constructor(pool: object, acquireMs: number, source: PoolSource<Connection>) {
    this.#database = source.database
    this.#acquireMs = acquireMs
    this.line = new ConnectionLine(source)
    this.#replacements = new Turns(() => Math.max(1, Math.floor(source.size() * REPLACED_SHARE)))
    const get = (): number => this.line.waiting + source.waiting()
    Object.defineProperty(pool, 'waitingCount', { configurable: true, get })
  }

  acquire(called: (error: Error | undefined, connection?: Connection) => void): void {
    const budget = openBudget(this.#acquireMs, { phase: 'acquire', what: `a ${this.#database} connection` })
    if (budget instanceof Budget) this.line.wait(budget, called)
    else nextTick(called, budget)
  }

  /** Calls `replace` now or in its turn. Returns what takes the wish back. */
  askToReplace(replace: () => void): () => boolean {
    return this.#replacements.take(done => {
      startFairTimer(REPLACING_MS, done)
      replace()
    })
  }
}
