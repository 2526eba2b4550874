/** What a pool under bound() and the connections it gives out share. */
import { nextTick } from 'node:process'
import { Budget } from '../deadline/budget.ts'
import { openBudget } from '../deadline/open-budget.ts'
import { Cancellations } from './cancellations.ts'
import { ConnectionLine, type ConnectionSource } from './connection-line.ts'
import { Replacements } from './replacements.ts'

export interface PoolSource<Connection> extends ConnectionSource<Connection> {
  readonly database: string
  /** How many connections the pool may have. */
  size(): number
  /** How many wait in the pool's own line. */
  waiting(): number
}

export class BoundPool<Connection> {
  readonly line: ConnectionLine<Connection>
  readonly replacements: Replacements
  readonly cancellations: Cancellations = new Cancellations()
  readonly #database: string
  readonly #acquireMs: number

  constructor(pool: object, acquireMs: number, source: PoolSource<Connection>) {
    this.#database = source.database
    this.#acquireMs = acquireMs
    this.line = new ConnectionLine(source)
    this.replacements = new Replacements(() => source.size())
    const get = (): number => this.line.waiting + source.waiting()
    Object.defineProperty(pool, 'waitingCount', { configurable: true, get })
  }

  /** Calls once: with a connection, or with why there is none. */
  acquire(called: (error: Error | undefined, connection?: Connection) => void): void {
    const budget = openBudget(this.#acquireMs, { phase: 'acquire', what: `a ${this.#database} connection` })
    if (budget instanceof Budget) this.line.wait(budget, called)
    else nextTick(called, budget)
  }
}
