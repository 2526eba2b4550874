/** One client of pg under bound(): its line of queries, and how the server is asked whether it is done with one. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { nextTick } from 'node:process'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'
import { BoundConnection, PendingQuery } from './bound-connection.ts'
import type { Cancellation } from './cancellations.ts'
import { pgCancellation } from './pg-cancel.ts'
import { type Callback, isOwnQuery, type OwnQuery, type PgClient, type Query } from './pg-shapes.ts'

interface Entry {
  readonly pending: PendingQuery
  readonly done: Callback
  readonly submit: () => Promise<unknown>
}

export class BoundClient extends BoundConnection<PgClient> {
  readonly #client: PgClient
  readonly #query: Query
  /** Not sent yet, and not in pg's own queue, from which nothing can be taken out again. */
  #line: Entry[] = []
  /** Until the server is done with it, whether or not somebody still waits. */
  #running: Entry | undefined

  constructor(client: PgClient, queryMs: number) {
    super({ name: 'PostgreSQL', kind: 'pg', where: client.connectionParameters ?? {} }, queryMs)
    this.#client = client
    this.#query = client.query.bind(client)
  }

  query(config: unknown, values: unknown, callback: unknown): unknown {
    // pg says what is wrong.
    if (config === null || config === undefined) return this.#query(config, values, callback)
    if (isOwnQuery(config)) return this.#startOwn(config, values, callback)
    const inConfig = (config as { callback?: unknown }).callback
    const given = [values, callback, inConfig].find(value => typeof value === 'function') as Callback | undefined
    const plain = typeof values === 'function' ? undefined : values
    const bare = typeof inConfig === 'function' ? { ...(config as object), callback: undefined } : config
    return callbackOrPromise(given, done => this.#start(async () => this.#query(bare, plain), done))
  }

  #start(submit: Entry['submit'], done: Callback): void {
    const pending = this.beginQuery()
    if (pending instanceof Error) {
      nextTick(done, pending)
      return
    }
    const entry: Entry = { pending, done, submit }
    this.#line.push(entry)
    pending.budget?.onEnd(reason => {
      this.endedEarly(reason)
      this.#tell(entry, reason)
      if (this.#running === entry) this.recover()
      else this.#line = this.#line.filter(other => other !== entry)
    })
    this.sendWaiting()
  }

  /** No deadline, but a place in the line: a late cancel must not hit it either. */
  #startOwn(config: OwnQuery, values: unknown, callback: unknown): unknown {
    const done: Callback = error => {
      if (error) config.handleError?.(error, this.#client.connection)
    }
    const submit = (): Promise<void> => {
      const over = endOf(config)
      this.#query(config, values, callback)
      return over
    }
    if (this.discarded !== undefined) nextTick(done, this.discardedError(this.discarded))
    else {
      this.#line.push({ pending: new PendingQuery(), done, submit })
      this.sendWaiting()
    }
    return config
  }

  /** One at a time, also in pg's pipeline mode: a cancel hits whichever is running. */
  protected sendWaiting(): boolean {
    if (this.#running !== undefined) return false
    if (this.#line.length === 0 || this.recovery !== undefined || this.discarded !== undefined) return true
    const entry = this.#line.shift()!
    this.#running = entry
    const { call } = entry.pending
    if (call?.sentAtMs === undefined) call?.connected(false, true)
    entry.submit().then(
      result => this.#ended(entry, undefined, result),
      error => this.#ended(entry, error),
    )
    return false
  }

  #ended(entry: Entry, error: Error | undefined, result?: unknown): void {
    this.#running = undefined
    this.#tell(entry, error, result)
    if (this.discarded !== undefined) return
    this.recovery?.queryEnded()
    this.goOn()
  }

  /** In a tick of its own, so that what a callback throws is the app's exception and not a rejection of ours. */
  #tell({ pending, done }: Entry, error: Error | undefined, result?: unknown): void {
    if (pending.end(error)) nextTick(done, error, result)
  }

  protected cancellation(): Cancellation | undefined {
    return this.#running === undefined ? undefined : pgCancellation(this.#client)
  }

  async probe(): Promise<unknown> {
    return this.#query(this.released && this.mayBeInTransaction() ? 'ROLLBACK' : '')
  }

  protected mayBeInTransaction(): boolean {
    return this.#client.getTransactionStatus?.() !== 'I'
  }

  protected close(error: Error): void {
    if (this.#running !== undefined) this.#tell(this.#running, error)
    for (const entry of this.#line) this.#tell(entry, error)
    this.#line = []
    // One of a pool is ended by its release; ended here, the pool would not know.
    if (this.pool === undefined) Promise.resolve(this.#client.end()).catch(() => {})
  }

  protected override release(error?: unknown): void {
    // pg's pool and many apps release with the query's error: a passed deadline is no fault of the connection.
    const fault = error && error !== this.reason && !(error instanceof DeadlineExceededError)
    if (fault && this.discarded === undefined) {
      this.giveBack(error)
      return
    }
    // The pool listens again once it has it.
    this.#client.on('error', ignore)
    super.release()
  }

  protected override giveBack(error?: unknown): void {
    super.giveBack(error)
    this.pool?.line.free()
    this.#client.removeListener('error', ignore)
  }
}

/** As all of pg: with a callback it calls back, in the caller's context; without one it gives a promise. */
export function callbackOrPromise(callback: Callback | undefined, start: (done: Callback) => void): unknown {
  if (callback !== undefined) return start(AsyncLocalStorage.bind(callback))
  return new Promise((resolve, reject) => {
    start((error, result) => (error ? reject(error) : resolve(result)))
  })
}

const ignore = (): void => {}

/** When pg is done with a query of its own kind; at once where we cannot see that. */
function endOf(query: OwnQuery): Promise<void> {
  return new Promise(resolve => {
    for (const name of ['handleReadyForQuery', 'handleError'] as const) {
      const original = query[name]
      if (typeof original !== 'function') return resolve()
      query[name] = (...args) => {
        resolve()
        return original.apply(query, args)
      }
    }
  })
}
