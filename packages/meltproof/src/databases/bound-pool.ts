import { nextTick } from 'node:process'
import { Budget } from '../deadline/budget.ts'
import { currentBudget, openBudget } from '../deadline/context.ts'
import { startFairTimer } from '../deadline/fair-timer.ts'
import { namePool, type PoolFigures } from '../named-figures.ts'
import { Call, type DatabaseAddress, peerOf } from '../outbound/call.ts'
import type { OutboundRecord } from '../record.ts'
import { type Warn, warnOnce } from '../warnings.ts'
import { Cancellations } from './cancellations.ts'
import { ConnectionQueue, type ConnectionSource } from './connection-queue.ts'
import { Semaphore } from './semaphore.ts'

/**
 * Maximum share of the connections of a pool that are replaced at the same time. The query of a replaced connection may
 * continue on the server, so a pool that replaced all connections every few seconds would soon have a hundred abandoned
 * queries running.
 */
const REPLACED_SHARE = 0.25
/** A connection counts as being replaced for this long, ms. */
const REPLACING_MS = 5000

export interface PoolSource<Connection> extends ConnectionSource<Connection> {
  readonly database: string
  readonly kind: OutboundRecord['kind']
  /** The server's address from the configuration. Connections know it more exactly. */
  readonly where: DatabaseAddress
  /** The pool's methods for a single query. Each requests its connection before it returns. */
  readonly singleQueries: readonly string[]
  size(): number
  waiting(): number
}

export interface Loan<Connection> {
  readonly connection: Connection
  /** True if the pool itself borrowed the connection, for a single query, so that the app does not hold it. */
  readonly single: boolean
  /** The outbound call of the borrower, until its first query takes over the call. It includes the wait. */
  readonly call: Call | undefined
  /** The budget in which the connection was borrowed. */
  readonly within: Budget | undefined
  /** Returns the connection to the pool. The driver sets it. */
  giveBack?: (error?: unknown) => void
}

export class BoundPool<Connection> {
  where: DatabaseAddress
  readonly queue: ConnectionQueue<Connection>
  readonly cancellations: Cancellations = new Cancellations()
  readonly warn: Warn = warnOnce()
  readonly #replacements: Semaphore
  readonly #source: PoolSource<Connection>
  readonly #acquireMs: number
  /** True while a method for a single query runs. */
  #single = false
  /** The metrics hold this function weakly. It lives as long as the pool, whose closures refer to it. */
  readonly figures: () => PoolFigures

  constructor(pool: object, acquireMs: number, source: PoolSource<Connection>) {
    this.where = source.where
    this.#source = source
    this.#acquireMs = acquireMs
    this.queue = new ConnectionQueue(source)
    this.#replacements = new Semaphore(() => Math.max(1, Math.floor(source.size() * REPLACED_SHARE)))
    // The pool's own queue also contains callers that have given up, until their turn.
    const get = (): number => Math.min(this.queue.callers, this.queue.waiting + source.waiting())
    Object.defineProperty(pool, 'waitingCount', { configurable: true, get })
    this.figures = () => ({ name: peerOf(this.where), used: this.queue.lentCount, waiting: get(), most: source.size() })
    namePool(this.figures)
    const methods = pool as Record<string, (...args: unknown[]) => unknown>
    for (const name of source.singleQueries) {
      const original = methods[name]!
      methods[name] = (...args) => {
        this.#single = true
        try {
          return original.apply(pool, args)
        } finally {
          this.#single = false
        }
      }
    }
  }

  acquire(called: (error: Error | undefined, loan?: Loan<Connection>) => void): void {
    const single = this.#single
    const within = currentBudget()
    const { database, kind } = this.#source
    const budget = openBudget(this.#acquireMs, { phase: 'acquire', what: `a ${database} connection` })
    if (!(budget instanceof Budget)) {
      nextTick(called, budget)
      return
    }
    const call = Call.database(kind, this.where, 'query', true)
    this.queue.wait(budget, (error, connection) => {
      if (connection === undefined) {
        call?.end(error)
        called(error)
      } else {
        call?.connected(false, false)
        called(undefined, { connection, single, call, within })
      }
    })
  }

  /** Calls `replace` now or when its turn comes. The returned function withdraws the request. */
  askToReplace(replace: () => void): () => boolean {
    return this.#replacements.take(done => {
      startFairTimer(REPLACING_MS, done)
      replace()
    })
  }
}
