/** One connection of mysql2 under bound(): its queries, what is late on it, and when it goes back to its pool. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Budget } from '../deadline/budget.ts'
import type { CheckedDatabaseOptions } from './bound-options.ts'
import { openCallBudget } from './call-budget.ts'
import { type Cancellations, loneCancellations } from './cancellations.ts'
import type { ConnectionLine } from './connection-line.ts'
import { discardedError } from './discarded.ts'
import { killQuery } from './mysql2-kill.ts'
import type { Command, Connection, PooledConnection } from './mysql2-shapes.ts'
import { noteCall } from './note-call.ts'
import { Recovery } from './recovery.ts'
import type { Replacements } from './replacements.ts'

/** The pool that gives connections out, as far as they need it. */
export interface Lender {
  readonly line: ConnectionLine<PooledConnection>
  readonly replacements: Replacements
  readonly cancellations: Cancellations
}

interface InFlight {
  readonly command: Command
  finish(error: Error): void
}

export class BoundConnection {
  readonly #connection: Connection
  readonly #options: CheckedDatabaseOptions
  readonly #add: Connection['addCommand']
  readonly #inFlight = new Set<InFlight>()
  /** What came while the connection recovers: a late cancel would hit it. */
  #held: Command[] = []
  #recovery: Recovery | undefined
  /** Why it must not be used any more. */
  #discarded: Error | undefined

  // Of a connection that a pool has given out.
  #lender: Lender | undefined
  #giveBack: (() => void) | undefined
  #released = false
  /** Why the last query since it was given out ended before its time. */
  #reason: Error | undefined
  #stopReplacing: (() => void) | undefined

  constructor(connection: Connection, options: CheckedDatabaseOptions) {
    this.#connection = connection
    this.#options = options
    this.#add = connection.addCommand
    connection.addCommand = this.#bounded
  }

  readonly #bounded = (command: Command): Command => {
    const { onResult } = command
    // A handshake, a ping, a stream of rows: no query that somebody waits for.
    if (typeof command.sql !== 'string' || typeof onResult !== 'function') return this.#send(command)
    if (this.#discarded !== undefined) return this.#refuse(command, discardedError('MySQL', this.#discarded))
    let budget: Budget
    try {
      budget = openCallBudget(this.#options.queryMs, 'query', 'a MySQL query')
    } catch (error) {
      this.#reason = error as Error
      return this.#refuse(command, error)
    }
    const inContext = AsyncLocalStorage.bind(onResult)
    const noted = noteCall('mysql', this.#connection.config, 'query')
    const entry: InFlight = {
      command,
      finish: error => {
        if (!this.#inFlight.delete(entry)) return
        budget.settle()
        noted?.end(error)
        command.onResult = () => {}
        process.nextTick(inContext, error)
      },
    }
    this.#inFlight.add(entry)
    command.onResult = (error, ...results) => {
      if (!this.#inFlight.delete(entry)) return
      budget.settle()
      noted?.end(error)
      inContext(error, ...results)
    }
    budget.onEnd(reason => {
      this.#reason = reason
      this.#lender?.line.ended(reason)
      const running = this.#connection._command === command
      // Still in line: it ends there without having been sent, and nobody else's query is touched.
      if (!running) command.start = () => null
      entry.finish(reason)
      if (running) this.#recoverFrom(command)
    })
    return this.#send(command)
  }

  #refuse(command: Command, error: unknown): Command {
    const { onResult } = command
    command.onResult = undefined
    process.nextTick(onResult!, error)
    // Through the line all the same, where it ends without having sent anything: a pool waits for its end.
    command.start = () => null
    return this.#discarded === undefined ? this.#send(command) : command
  }

  #send(command: Command): Command {
    const connection = this.#connection
    if (this.#recovery !== undefined) this.#held.push(command)
    // It has been closed meanwhile; mysql2 then puts its own here, which says so.
    else if (connection.stream?.writable === false && connection.addCommand !== this.#bounded) {
      connection.addCommand(command)
    } else this.#add.call(connection, command)
    return command
  }

  // What is late --------------------------------------------------------------------------------------------------

  #recoverFrom(late: Command): void {
    let over = false
    const ended = (): void => {
      if (over) return
      over = true
      this.#recovery?.queryEnded()
    }
    // One of them tells of its answer, the other of a connection that is gone.
    late.once?.('end', ended)
    late.onResult = ended
    this.#recover(true)
  }

  #recover(running: boolean): void {
    this.#recovery = new Recovery(
      {
        cancel: over => {
          const kill = killQuery(this.#connection)
          return kill && (this.#lender?.cancellations ?? loneCancellations).run(kill, over)
        },
        probe: () => this.#probe(),
        recovered: () => {
          this.#recovery = undefined
          this.#stopReplacing?.()
          for (const command of this.#held.splice(0)) this.#send(command)
          if (this.#released) this.#giveBackNow()
        },
        lost: () => {
          const reason = this.#reason ?? new Error('a query was not over in time')
          if (this.#lender === undefined) this.#discard(reason)
          else this.#stopReplacing = this.#lender.replacements.ask(() => this.#discard(reason))
        },
      },
      running,
    )
    this.#recovery.start()
  }

  /** Two statements: a kill that had not struck yet hits the first, and the rollback is done all the same. */
  async #probe(): Promise<void> {
    await this.#roundTrip('DO 0')
    // The app's own rollback may have been refused for want of time.
    if (this.#released) await this.#roundTrip('ROLLBACK')
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

  /** Never uses it again. */
  #discard(reason: Error): void {
    this.#discarded = reason
    this.#recovery?.stop()
    this.#recovery = undefined
    this.#connection.destroy()
    // mysql2 puts its own here, which says less.
    this.#connection.addCommand = this.#bounded
    this.#held = []
    for (const other of this.#inFlight) other.finish(discardedError('MySQL', reason))
    if (this.#released) this.#giveBackNow()
  }

  // Of a pool -----------------------------------------------------------------------------------------------------

  /** @param giveBack the pool's own. Returns the release for whoever gets it. */
  checkOut(lender: Lender, giveBack: () => void): () => void {
    this.#lender = lender
    this.#giveBack = giveBack
    this.#released = false
    this.#reason = undefined
    return this.#release
  }

  /** Whoever had it is done with it. The pool gets it when the server is, too. */
  readonly #release = (): void => {
    if (this.#giveBack === undefined || this.#released) return
    this.#released = true
    if (this.#reason === undefined || this.#discarded !== undefined) this.#giveBackNow()
    else if (this.#recovery === undefined) this.#recover(false)
  }

  #giveBackNow(): void {
    const giveBack = this.#giveBack
    this.#giveBack = undefined
    this.#released = false
    giveBack?.()
  }
}
