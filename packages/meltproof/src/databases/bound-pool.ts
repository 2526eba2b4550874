import { nextTick } from 'node:process'
import { Budget } from '../deadline/budget.ts'
import { openBudget } from '../deadline/context.ts'
import { startFairTimer } from '../deadline/fair-timer.ts'
import { Cancellations } from './cancellations.ts'
import { type PoolFigures, namePool } from '../named-figures.ts'
import { Call, peerOf, type DatabaseAddress } from '../outbound/call.ts'
import type { OutboundRecord } from '../record.ts'
import { ConnectionLine, type ConnectionSource } from './connection-line.ts'
import { type Warn, warnOnce } from '../warnings.ts'
import { Semaphore } from './semaphore.ts'

/**
 * The share of a pool that may be replaced at once. A connection that is given up leaves a query at the server that may
 * run on: a pool that replaced all connections every few seconds would soon have a hundred abandoned queries at work.
 */
const REPLACED_SHARE = 0.25
/** Time for which one counts as being replaced, ms. */
const REPLACING_MS = 5000

export interface PoolSource<Connection> extends ConnectionSource<Connection> {
  readonly database: string
  readonly kind: OutboundRecord['kind']
  /** As configured; its connections tell it better. */
  readonly where: DatabaseAddress
  size(): number
  waiting(): number
}

export class BoundPool<Connection> {
  where: DatabaseAddress
  readonly line: ConnectionLine<Connection>
  readonly cancellations: Cancellations = new Cancellations()
  readonly warn: Warn = warnOnce()
  readonly #replacements: Semaphore
  readonly #database: string
  readonly #kind: OutboundRecord['kind']
  readonly #acquireMs: number
  /** The pool's own closures hold this, so it is read while the pool exists. */
  readonly figures: () => PoolFigures

  constructor(pool: object, acquireMs: number, source: PoolSource<Connection>) {
    this.where = source.where
    this.#database = source.database
    this.#kind = source.kind
    this.#acquireMs = acquireMs
    this.line = new ConnectionLine(source)
    this.#replacements = new Semaphore(() => Math.max(1, Math.floor(source.size() * REPLACED_SHARE)))
    // The places of those that gave up stay in the pool's own line until their turn.
    const get = (): number => Math.min(this.line.callers, this.line.waiting + source.waiting())
    Object.defineProperty(pool, 'waitingCount', { configurable: true, get })
    this.figures = () => ({ name: peerOf(this.where), used: this.line.out, waiting: get(), most: source.size() })
    namePool(this.figures)
  }

  /** `call` waits with it, and becomes that of the first query on the connection; undefined while calls are not observed. */
  acquire(called: (error: Error | undefined, connection?: Connection, call?: Call) => void): void {
    const budget = openBudget(this.#acquireMs, { phase: 'acquire', what: `a ${this.#database} connection` })
    if (!(budget instanceof Budget)) {
      nextTick(called, budget)
      return
    }
    const call = Call.database(this.#kind, this.where, 'query', true)
    this.line.wait(budget, (error, connection) => {
      if (error) call?.end(error)
      else call?.connected(false, false)
      called(error, connection, call)
    })
  }

  /** Calls `replace` now or in its turn. Returns what takes the wish back. */
  askToReplace(replace: () => void): () => boolean {
    return this.#replacements.take(done => {
      startFairTimer(REPLACING_MS, done)
      replace()
    })
  }
}

/** Tells whether a method of the pool that runs one query is being called. It asks for its connection before it returns. */
export function watchSingleQueries<Name extends string>(
  pool: Record<Name, (...args: unknown[]) => unknown>,
  names: readonly Name[],
): () => boolean {
  let single = false
  for (const name of names) {
    const original = pool[name]
    pool[name] = (...args) => {
      single = true
      try {
        return original.apply(pool, args)
      } finally {
        single = false
      }
    }
  }
  return () => single
}
