/**
 * The line in front of a pool, for those who have a deadline. A pool serves first come, first served: once its line is
 * longer than the deadlines allow, each connection goes to the one with the least time left, and no query ends in time.
 * So once a deadline has passed, the newest goes first until the line is empty. Who gets a connection is decided when
 * it comes.
 */
import type { Budget } from '../deadline/budget.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'

/** What the line needs of a pool. */
export interface ConnectionSource<Connection> {
  /** How many connections may be out at once. */
  limit(): number
  connect(called: (error: Error | undefined | null, connection?: Connection) => void): void
  /** Gives back one that nobody waits for any more. */
  giveBack(connection: Connection): void
}

type Called<Connection> = (error: Error | undefined, connection?: Connection) => void

interface Waiter<Connection> {
  readonly budget: Budget
  readonly called: Called<Connection>
  older: Waiter<Connection> | undefined
  newer: Waiter<Connection> | undefined
}

export class ConnectionLine<Connection> {
  readonly #source: ConnectionSource<Connection>
  #oldest: Waiter<Connection> | undefined
  #newest: Waiter<Connection> | undefined
  #length = 0
  #newestFirst = false
  /** Connections asked of the pool that have not come yet. */
  #asked = 0
  /** Connections that are out. */
  #out = 0
  #asking = false

  constructor(source: ConnectionSource<Connection>) {
    this.#source = source
  }

  /** How many wait beyond those for whom the pool was asked. */
  get waiting(): number {
    return Math.max(0, this.#length - this.#asked)
  }

  /** Calls once: with a connection, or with why there is none. */
  wait(budget: Budget, called: Called<Connection>): void {
    const waiter: Waiter<Connection> = { budget, called, older: this.#newest, newer: undefined }
    if (this.#newest === undefined) this.#oldest = waiter
    else this.#newest.newer = waiter
    this.#newest = waiter
    this.#length++
    budget.onEnd(reason => {
      this.#remove(waiter)
      this.ended(reason)
      called(reason)
    })
    this.#ask()
  }

  /** One that was out has been given back to the pool, or is gone. */
  free(): void {
    this.#out--
    // Also when enough have been asked for: they may still be connecting, and this one is there.
    if (this.#length > 0 && this.#asked + this.#out < this.#source.limit()) this.#askOne()
  }

  /** A wait, or what was done with a connection, ended before its time. */
  ended(reason: Error): void {
    if (reason instanceof DeadlineExceededError && this.#length > 0) this.#newestFirst = true
  }

  #ask(): void {
    // The pool may call back at once.
    if (this.#asking) return
    this.#asking = true
    while (this.#asked < this.#length && this.#asked + this.#out < this.#source.limit()) this.#askOne()
    this.#asking = false
  }

  #askOne(): void {
    this.#asked++
    this.#source.connect(this.#arrived)
  }

  readonly #arrived = (error: Error | undefined | null, connection?: Connection): void => {
    this.#asked--
    const waiter = error || !this.#newestFirst ? this.#oldest : this.#newest
    if (waiter === undefined) {
      if (!error && connection !== undefined) this.#source.giveBack(connection)
      return
    }
    this.#remove(waiter)
    waiter.budget.settle()
    if (error || connection === undefined) {
      waiter.called(error ?? new Error('the pool gave no connection'))
      this.#ask()
    } else {
      this.#out++
      waiter.called(undefined, connection)
    }
  }

  #remove(waiter: Waiter<Connection>): void {
    const { older, newer } = waiter
    if (older === undefined) this.#oldest = newer
    else older.newer = newer
    if (newer === undefined) this.#newest = older
    else newer.older = older
    if (--this.#length === 0) this.#newestFirst = false
  }
}
