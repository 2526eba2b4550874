/**
 * One client of pg under bound(). Its queries wait in pg's own queue, as without meltproof. To act between two queries,
 * meltproof adds an entry to that queue: pg lets each entry send itself, and waits for its answer.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { nextTick } from 'node:process'
import { BoundConnection } from './bound-connection.ts'
import type { Cancellation } from './cancellations.ts'
import { pgCancellation } from './pg-cancel.ts'
import { PgGate, passedOverEntry } from './pg-entries.ts'
import { type Callback, isOwnQuery, type PgClient, type PgQuery, type Query } from './pg-shapes.ts'
import { Statement } from './statement.ts'

export class BoundClient extends BoundConnection<PgClient> {
  readonly #client: PgClient
  readonly #query: Query
  #transactionStatus: string | undefined

  constructor(client: PgClient, queryMs: number) {
    super({ name: 'PostgreSQL', kind: 'pg', where: client.connectionParameters ?? {} }, queryMs)
    this.#client = client
    this.#query = client.query.bind(client)
    client.query = this.#bounded
    // Runs before pg's own listener, which sends the next query.
    client.connection?.prependListener('readyForQuery', message => {
      this.#transactionStatus = message?.status
    })
  }

  readonly #bounded: Query = (config, values, callback) => {
    // pg itself reports the missing query.
    if (config === null || config === undefined) return this.#send(config, values, callback)
    const { text: given, callback: inConfig } = config as { text?: unknown; callback?: unknown }
    const text = String(typeof config === 'string' ? config : (given ?? ''))
    if (isOwnQuery(config)) {
      // A cursor or a stream is read at its reader's pace, and has no deadline.
      this.#askInTurn(config, text)
      return this.#send(config, values, callback)
    }
    const done = [values, callback, inConfig].find(value => typeof value === 'function') as Callback | undefined
    const refused = this.refusal(text)
    if (refused !== undefined) return this.#fail(refused, done)
    const statement = this.open(text)
    if (!(statement instanceof Statement)) {
      const passOver = (): void => this.passedOver(text, statement)
      // In pipeline mode pg accepts no entries.
      if (this.#client.pipeline === true) passOver()
      else this.#send(passedOverEntry(passOver))
      return this.#fail(statement, done)
    }
    const { queue, sent } = linesOf(this.#client)
    const [waiting, underWay, active] = [queue.length, sent.length, activeOf(this.#client)]
    const result = this.#send(config, values, callback)
    const waits = queue.length > waiting
    const query = waits ? queue.at(-1) : sent.length > underWay ? sent.at(-1) : activeOf(this.#client)
    if (query === undefined || query === null || query === active) this.over(statement)
    else {
      if (waits) this.#askInTurn(query, text)
      this.#bind(statement, query, done !== undefined)
    }
    return result
  }

  /**
   * Hides the gate from pg, which warns about a query that is sent while another one is in the queue. While the gate is
   * in the queue pg waits for an answer, so it sends nothing here.
   */
  #send(config: unknown, values?: unknown, callback?: unknown): unknown {
    const { queue } = linesOf(this.#client)
    const gate = queue[0] instanceof PgGate ? queue.shift() : undefined
    try {
      return this.#query(config, values, callback)
    } finally {
      if (gate !== undefined) queue.unshift(gate)
    }
  }

  #askInTurn(query: PgQuery, text: string): void {
    const { submit } = query
    query.submit = connection => this.refusal(text) ?? submit.call(query, connection)
  }

  #fail(error: Error, done: Callback | undefined): unknown {
    if (done === undefined) return (this.#client._Promise ?? Promise).reject(error)
    nextTick(done, error)
    return undefined
  }

  #bind(statement: Statement, query: PgQuery, withCallback: boolean): void {
    const answer = withCallback ? AsyncLocalStorage.bind(query.callback!) : query.callback!
    query.callback = answer
    for (const end of ['handleReadyForQuery', 'handleError'] as const) {
      const original = query[end]
      query[end] = (...args) => {
        this.over(statement, end === 'handleError' ? args[0] : undefined)
        return original?.apply(query, args)
      }
    }
    this.watch(statement, {
      isRunning: () => activeOf(this.#client) === query && this.#client.pipeline !== true,
      tell: error => {
        query.callback = () => {}
        nextTick(answer, error)
      },
      drop: reason => this.#drop(statement, query, reason),
      blockQueue: recovery => {
        const gate = new PgGate(recovery)
        linesOf(this.#client).queue.unshift(gate)
        return needed => gate.probe(needed)
      },
    })
  }

  #drop(statement: Statement, query: PgQuery, reason: Error): void {
    const passOver = (): void => this.passedOver(statement.text, reason)
    const { queue } = linesOf(this.#client)
    const place = queue.indexOf(query)
    if (place >= 0) {
      queue[place] = passedOverEntry(passOver, () => this.over(statement))
    } else {
      // In pipeline mode a cancel could hit another query. The answer is awaited and ignored.
      statement.onOver = passOver
    }
  }

  protected cancellation(): Cancellation | undefined {
    return pgCancellation(this.#client)
  }

  protected inTransaction(): boolean {
    const status = this.#client.getTransactionStatus?.() ?? this.#transactionStatus
    return status === 'T' || status === 'E'
  }

  protected askTransaction(done: () => void): void {
    done()
  }

  protected close(): void {
    Promise.resolve(this.#client.end()).catch(() => {})
  }
}

function activeOf(client: PgClient): PgQuery | null | undefined {
  return '_activeQuery' in client ? client._activeQuery : client.activeQuery
}

/** Queries that wait in pg, and those that pg has sent ahead in pipeline mode. The names differ between versions. */
function linesOf(client: PgClient): { readonly queue: PgQuery[]; readonly sent: readonly PgQuery[] } {
  return { queue: client._queryQueue ?? client.queryQueue ?? [], sent: client._sentQueryQueue ?? [] }
}
