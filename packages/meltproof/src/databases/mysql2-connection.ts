/** One connection of mysql2 under bound(): its queries, and how the server is asked whether it is done with one. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { nextTick } from 'node:process'
import { BoundConnection, type PendingQuery } from './bound-connection.ts'
import type { Cancellation } from './cancellations.ts'
import { killQuery } from './mysql2-kill.ts'
import type { Command, Connection, PooledConnection } from './mysql2-shapes.ts'

export class MysqlConnection extends BoundConnection<PooledConnection> {
  readonly #connection: Connection
  readonly #add: Connection['addCommand']
  readonly #inFlight = new Set<(error: Error) => void>()
  /** What came while the connection recovers: a late cancel would hit it. */
  #held: Command[] = []

  constructor(connection: Connection, queryMs: number) {
    super({ name: 'MySQL', kind: 'mysql', where: connection.config }, queryMs)
    this.#connection = connection
    this.#add = connection.addCommand
    connection.addCommand = this.#bounded
  }

  readonly #bounded = (command: Command): Command => {
    const { onResult } = command
    // A handshake, a ping, a stream of rows: no query that somebody waits for.
    if (typeof command.sql !== 'string' || typeof onResult !== 'function') return this.#send(command)
    const pending = this.beginQuery()
    if (pending instanceof Error) return this.#refuse(command, pending)
    this.#bind(command, pending, AsyncLocalStorage.bind(onResult))
    return this.#send(command)
  }

  #bind(command: Command, pending: PendingQuery, tell: NonNullable<Command['onResult']>): void {
    const end = (error: Error | null): boolean => {
      this.#inFlight.delete(giveUp)
      return pending.end(error)
    }
    const giveUp = (error: Error): void => {
      if (!end(error)) return
      command.onResult = () => {}
      nextTick(tell, error)
    }
    this.#inFlight.add(giveUp)
    command.onResult = (error, ...results) => {
      if (end(error)) tell(error, ...results)
    }
    pending.budget?.onEnd(reason => {
      this.endedEarly(reason)
      const running = this.#connection._command === command
      // Still in line: it ends there without having been sent, and nobody else's query is touched.
      if (!running) command.start = () => null
      giveUp(reason)
      if (running) this.#recoverFrom(command)
    })
  }

  #refuse(command: Command, error: unknown): Command {
    const { onResult } = command
    command.onResult = undefined
    nextTick(onResult!, error)
    // Through the line all the same, where it ends without having sent anything: a pool waits for its end.
    command.start = () => null
    return this.discarded === undefined ? this.#send(command) : command
  }

  #send(command: Command): Command {
    const connection = this.#connection
    if (this.recovery !== undefined) this.#held.push(command)
    // It has been closed meanwhile; mysql2 then puts its own here, which says so.
    else if (connection.stream?.writable === false && connection.addCommand !== this.#bounded) {
      connection.addCommand(command)
    } else this.#add.call(connection, command)
    return command
  }

  #recoverFrom(late: Command): void {
    let over = false
    const ended = (): void => {
      if (over) return
      over = true
      this.recovery?.queryEnded()
    }
    // One of them tells of its answer, the other of a connection that is gone.
    late.once?.('end', ended)
    late.onResult = ended
    this.recover()
  }

  protected cancellation(): Cancellation | undefined {
    return killQuery(this.#connection)
  }

  /** Two statements: a kill that had not struck yet hits the first, and the rollback is done all the same. */
  async probe(): Promise<void> {
    await this.#roundTrip('DO 0')
    if (!this.released) return
    await this.#roundTrip('ROLLBACK')
    this.reason = undefined
  }

  #roundTrip(sql: string): Promise<unknown> {
    const connection = this.#connection
    return new Promise(resolve => {
      const held = connection.addCommand
      if (held === this.#bounded) connection.addCommand = this.#add
      connection.query(sql, resolve)
      if (held === this.#bounded) connection.addCommand = held
    })
  }

  protected mayBeInTransaction(): boolean {
    return true
  }

  protected sendWaiting(): boolean {
    if (this.recovery === undefined) for (const command of this.#held.splice(0)) this.#send(command)
    return true
  }

  protected close(error: Error): void {
    this.#connection.destroy()
    // mysql2 puts its own here, which says less.
    this.#connection.addCommand = this.#bounded
    this.#held = []
    for (const giveUp of this.#inFlight) giveUp(error)
  }
}
