/**
 * One connection of mysql2 under bound(). Its commands wait in mysql2's own queue, as without meltproof. To act between
 * two commands, meltproof prolongs an overdue command, or adds a command.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { nextTick } from 'node:process'
import { BoundConnection } from './bound-connection.ts'
import type { Cancellation } from './cancellations.ts'
import { killQuery } from './mysql2-kill.ts'
import type { Command, Connection, PooledConnection } from './mysql2-shapes.ts'
import type { Probe, Recovery } from './recovery.ts'
import { Statement } from './statement.ts'

/** SERVER_STATUS_IN_TRANS of the protocol. */
const IN_TRANSACTION = 1

type OnResult = NonNullable<Command['onResult']>

interface Prepared {
  readonly query: unknown
  hasFailed: boolean
  /** True if the callback of its execute() has got an error of meltproof. */
  isTold: boolean
}

export class MysqlConnection extends BoundConnection<PooledConnection> {
  readonly #connection: Connection
  #add: Connection['addCommand']
  /** The last PREPARE: execute() adds one just before its EXECUTE. */
  #prepared: Prepared | undefined
  /** True if a transaction is open, as meltproof's last round trip reported. */
  #inTransaction = false

  constructor(connection: Connection, queryMs: number) {
    super({ name: 'MySQL', kind: 'mysql', where: connection.config }, queryMs)
    this.#connection = connection
    this.#add = connection.addCommand
    connection.addCommand = this.#bounded
  }

  readonly #bounded = (command: Command): Command => {
    const text = command.sql ?? command.statement?.query
    // A handshake or a ping is not a query.
    if (typeof text !== 'string') {
      this.#prepared = typeof command.query === 'string' ? this.#watchPrepare(command) : undefined
      return this.#send(command)
    }
    const prepared = this.#takePrepared(command)
    const { onResult } = command
    const refused = this.refusal(text)
    if (refused !== undefined && this.closed) {
      if (typeof onResult === 'function' && prepared?.hasFailed !== true) tellOnce(onResult, refused, prepared)
      return command
    }
    const { start } = command
    command.start = (...args) => {
      const error = this.refusal(text)
      if (error === undefined) return start!.apply(command, args)
      if (typeof command.onResult === 'function') nextTick(command.onResult, error)
      else command.emit?.('error', error)
      return null
    }
    if (refused !== undefined || typeof onResult !== 'function') return this.#send(command)
    const statement = this.open(text)
    if (statement instanceof Statement) this.#bind(statement, command, AsyncLocalStorage.bind(onResult), prepared)
    else {
      // Without a callback mysql2 would report the loss of the connection as an 'error' of the connection.
      command.onResult = nothing
      tellOnce(onResult, statement, prepared)
      // The command still goes through the queue, because a pool waits for its end.
      this.#passOver(command, text, statement)
    }
    return this.#send(command)
  }

  #send(command: Command): Command {
    return this.#add.call(this.#connection, command)
  }

  /** A PREPARE that fails calls the callback of its execute(), which may have got an error of meltproof before. */
  #watchPrepare(command: Command): Prepared {
    const prepared: Prepared = { query: command.query, hasFailed: false, isTold: false }
    const { onResult } = command
    command.onResult = (error, ...results) => {
      prepared.hasFailed = Boolean(error)
      if (!error || !prepared.isTold) onResult?.(error, ...results)
    }
    return prepared
  }

  #takePrepared(command: Command): Prepared | undefined {
    const prepared = this.#prepared
    this.#prepared = undefined
    const isExecute = 'statement' in command && command.statement === undefined && command.sql === prepared?.query
    return isExecute ? prepared : undefined
  }

  #bind(statement: Statement, command: Command, tell: OnResult, prepared: Prepared | undefined): void {
    let running = false
    const { start } = command
    command.start = (...args) => {
      running = true
      return start!.apply(command, args)
    }
    command.onResult = (error, ...results) => {
      if (error) this.over(statement, error)
      tell(error, ...results)
    }
    command.once?.('end', () => this.over(statement))
    this.watch(statement, {
      isRunning: () => running,
      tell: error => {
        command.onResult = late => {
          if (late) this.over(statement, late)
        }
        tellOnce(tell, error, prepared)
      },
      drop: reason => this.#passOver(command, statement.text, reason),
      blockQueue: recovery => this.#blockQueue(statement, command, recovery),
    })
  }

  /** When its turn comes, the command is not sent. It only asks whether a transaction is open. */
  #passOver(command: Command, text: string, reason: Error): void {
    command.execute = this.#roundTrip(() => {
      this.passedOver(text, reason)
      command.emit?.('end')
    })
  }

  #blockQueue(statement: Statement, command: Command, recovery: Recovery): Probe {
    const { execute } = command
    let startProbe: (() => void) | undefined
    let executing = false
    command.onResult = error => {
      if (!error) return
      this.over(statement, error)
      // There was no answer, so the connection is closed.
      if (!executing) recovery.answered()
    }
    command.execute = (packet, connection) => {
      executing = true
      const over = execute!.call(command, packet, connection)
      executing = false
      if (!over) return false
      command.execute = this.#roundTrip(() => recovery.answered())
      startProbe = () => command.execute!(undefined, connection)
      recovery.queryEnded()
      return false
    }
    return () => startProbe?.()
  }

  /**
   * Returns an execute() that sends an empty statement to learn whether a transaction is open. A KILL QUERY that
   * arrives late hits that statement, which is then repeated.
   */
  #roundTrip(done: () => void): NonNullable<Command['execute']> {
    let probe: Command | undefined
    let failed = false
    return (packet, connection) => {
      const over = probe?.execute?.(packet, connection)
      if (over === false) return false
      if (probe === undefined || failed) {
        failed = false
        probe = nothingFrom(connection, error => {
          failed = Boolean(error)
        })
        probe.once?.('result', ok => {
          this.#inTransaction =
            (Number((ok as { serverStatus?: unknown } | undefined)?.serverStatus) & IN_TRANSACTION) !== 0
        })
        probe.execute?.(undefined, connection)
        return false
      }
      done()
      return true
    }
  }

  protected cancellation(): Cancellation | undefined {
    return killQuery(this.#connection)
  }

  protected inTransaction(): boolean {
    return this.#inTransaction
  }

  protected askTransaction(done: () => void): void {
    let asked = false
    const answered = (): void => {
      if (!asked) done()
      asked = true
    }
    const question = nothingFrom(this.#connection, error => {
      if (error) answered()
    })
    question.execute = this.#roundTrip(answered)
    this.#send(question)
  }

  protected close(): void {
    const connection = this.#connection
    connection.destroy()
    // destroy() has replaced addCommand() with a method whose error says less than that of meltproof.
    this.#add = connection.addCommand
    connection.addCommand = this.#bounded
  }
}

/** A statement that does nothing, for the round trip. */
function nothingFrom(connection: Connection, answered: (error: Error | null) => void): Command {
  return connection.constructor.createQuery('DO 0', answered, undefined, connection.config)
}

function tellOnce(onResult: OnResult, error: Error, prepared: Prepared | undefined): void {
  if (prepared !== undefined) prepared.isTold = true
  nextTick(onResult, error)
}

function nothing(): void {}
