/**
 * The queue in front of a pool. A pool serves first come, first served: once its queue is longer than the deadlines
 * allow, each connection goes to the caller with the least time left, and no query ends in time. So after a missed
 * deadline the newest caller goes first until the queue is empty. The caller is chosen only when a connection arrives.
 */
import type { Budget } from '../deadline/budget.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'

export interface ConnectionSource<Connection> {
  limit(): number
  connect(called: (error: Error | undefined | null, connection?: Connection) => void): void
  /** Returns a connection for which no caller waits any more. */
  giveBack(connection: Connection): void
}

interface Waiter<Connection> {
  readonly budget: Budget
  readonly called: (error: Error | undefined, connection?: Connection) => void
}

export class ConnectionQueue<Connection> {
  readonly #source: ConnectionSource<Connection>
  readonly #waiters: Waiter<Connection>[] = []
  #newestFirst = false
  /** Connections requested from the pool that have not arrived yet. */
  #asked = 0
  /** Number of connections that are lent. */
  lentCount = 0
  #asking = false

  constructor(source: ConnectionSource<Connection>) {
    this.#source = source
  }

  /** Callers for whom no connection has been requested. */
  get waiting(): number {
    return Math.max(0, this.#waiters.length - this.#asked)
  }

  get callers(): number {
    return this.#waiters.length
  }

  wait(budget: Budget, called: Waiter<Connection>['called']): void {
    const waiter: Waiter<Connection> = { budget, called }
    this.#waiters.push(waiter)
    budget.onEnd(reason => {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      this.ended(reason)
      called(reason)
    })
    this.#ask()
  }

  /** A lent connection was returned to the pool, or is closed. */
  free(): void {
    this.lentCount--
    const limit = this.#source.limit()
    // Without a limit, one connection per waiting caller has already been requested.
    if (limit === Number.POSITIVE_INFINITY || this.#waiters.length === 0 || this.#asked + this.lentCount >= limit)
      return
    // Requests one even if enough are requested: the others may still be connecting, while the freed one is ready.
    this.#askOne()
  }

  ended(reason: Error): void {
    this.#newestFirst = this.#waiters.length > 0 && (this.#newestFirst || reason instanceof DeadlineExceededError)
  }

  #ask(): void {
    if (this.#asking) return
    this.#asking = true
    while (this.#asked < this.#waiters.length && this.#asked + this.lentCount < this.#source.limit()) this.#askOne()
    this.#asking = false
  }

  #askOne(): void {
    const asker = this.#waiters[this.#asked++]
    this.#source.connect((error, connection) => this.#arrived(asker, error, connection))
  }

  /** An error goes to the caller for whom the connection was requested: a pool with a full queue rejects the newest. */
  #arrived(asker: Waiter<Connection> | undefined, error: Error | undefined | null, connection?: Connection): void {
    this.#asked--
    const at = error ? Math.max(0, this.#waiters.indexOf(asker!)) : this.#newestFirst ? -1 : 0
    const [waiter] = this.#waiters.splice(at, 1)
    if (this.#waiters.length === 0) this.#newestFirst = false
    if (waiter === undefined) {
      if (!error && connection !== undefined) this.#source.giveBack(connection)
      return
    }
    waiter.budget.settle()
    if (error || connection === undefined) {
      waiter.called(error ?? new Error('the pool returned no connection'))
      this.#ask()
    } else {
      this.lentCount++
      waiter.called(undefined, connection)
    }
  }
}
