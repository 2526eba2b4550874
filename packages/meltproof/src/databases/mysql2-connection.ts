/**
 * One connection of mysql2 under bound(). Its commands wait in mysql2's own queue, as without meltproof. To act between
 * two commands, meltproof prolongs an overdue command, or adds a command.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { nextTick } from 'node:process'
import { clearTimeout } from 'node:timers'
import { BoundConnection } from './bound-connection.ts'
import type { Cancellation } from './cancellations.ts'
import { killQuery } from './mysql2-kill.ts'
import type { Command, Connection, PooledConnection } from './mysql2-shapes.ts'
import type { Probe, Recovery } from './recovery.ts'
import { Statement } from './statement.ts'

/** SERVER_STATUS_IN_TRANS of the protocol. */
const IN_TRANSACTION = 1
const ER_QUERY_INTERRUPTED = 1317

type OnResult = NonNullable<Command['onResult']>

export class MysqlConnection extends BoundConnection<PooledConnection> {
  readonly #connection: Connection
  readonly #add: Connection['addCommand']
  /** The last PREPARE: execute() adds one just before its EXECUTE. */
  #prepare: Command | undefined
  /** True if a transaction is open, as meltproof's last round trip reported, or if that failed. */
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
      this.#prepare = typeof command.query === 'string' ? command : undefined
      return this.#send(command)
    }
    const prepare = this.#takePrepare(command)
    const refused = this.refusal(text)
    const { start, onResult } = command
    command.start = (...args) => {
      const error = this.refusal(text)
      if (error === undefined) return start!.apply(command, args)
      if (typeof command.onResult === 'function') nextTick(command.onResult, error)
      else command.emit?.('error', error)
      return null
    }
    if (refused !== undefined || typeof onResult !== 'function') return this.#send(command)
    const statement = this.open(text)
    if (statement instanceof Statement) this.#bind(statement, command, AsyncLocalStorage.bind(onResult), prepare)
    else {
      // Without a callback mysql2 would report the loss of the connection as an 'error' of the connection.
      command.onResult = nothing
      tellOnce(onResult, statement, prepare)
      // The command still goes through the queue, because a pool waits for its end.
      this.#passOver(command, text, statement)
    }
    return this.#send(command)
  }

  #send(command: Command): Command {
    if (this.discarded === undefined) return this.#add.call(this.#connection, command)
    nextTick(refuse, command, this.discarded)
    return command
  }

  /** Returns the PREPARE of an EXECUTE. If it fails, mysql2 gives its error to the caller of the EXECUTE. */
  #takePrepare(command: Command): Command | undefined {
    const prepare = this.#prepare
    this.#prepare = undefined
    if (!('statement' in command) || command.statement !== undefined || command.sql !== prepare?.query) return undefined
    const { onResult } = prepare!
    prepare!.onResult = (error, ...results) => {
      // When the connection is closed, the EXECUTE has an error of its own.
      if (this.discarded === undefined) onResult?.(error, ...results)
    }
    return prepare
  }

  #bind(statement: Statement, command: Command, tell: OnResult, prepare: Command | undefined): void {
    command.onResult = (error, ...results) => {
      if (error) this.over(statement, error)
      tell(error, ...results)
    }
    command.once?.('end', () => this.over(statement))
    this.watch(statement, {
      isRunning: () => Boolean(command.next),
      tell: error => {
        command.onResult = late => {
          if (late) this.over(statement, late)
        }
        tellOnce(tell, error, prepare)
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
    // If mysql2's own timer fired, meltproof would take its error for the loss of the connection.
    clearTimeout(command.queryTimeout)
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
   * arrives late hits that statement, which is then repeated. After another error a transaction may be open.
   */
  #roundTrip(done: () => void): NonNullable<Command['execute']> {
    let probe: Command | undefined
    let attempts = 3
    let again = true
    return (packet, connection) => {
      if (probe?.execute?.(packet, connection) === false) return false
      if (again && attempts-- > 0) {
        again = false
        this.#inTransaction = true
        probe = nothingFrom(connection, error => {
          again = error?.errno === ER_QUERY_INTERRUPTED
        })
        probe.once?.('result', ok => {
          this.#inTransaction = (Number(ok?.serverStatus) & IN_TRANSACTION) !== 0
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
    const question = nothingFrom(this.#connection, error => {
      if (error) done()
    })
    question.execute = this.#roundTrip(done)
    this.#send(question)
  }

  protected close(): void {
    const connection = this.#connection
    connection.destroy()
    // destroy() has replaced addCommand() with a method whose error says less than that of meltproof.
    connection.addCommand = this.#bounded
    // mysql2 gives no answer to the commands of a connection that it has closed itself.
    const { _commands: queue } = connection
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) nextTick(refuse, next, this.discarded)
    nextTick(() => {
      const { _command: running, threadId } = connection
      // Without a thread id, the running command is the handshake, which has no caller.
      if (running && typeof threadId === 'number') refuse(running, this.discarded!)
    })
  }
}

/** A statement that does nothing, for the round trip. */
function nothingFrom(connection: Connection, answered: (error: { errno?: number } | null) => void): Command {
  return connection.constructor.createQuery('DO 0', answered, undefined, connection.config)
}

/** Ends a command that waits for an answer of a closed connection. */
function refuse(command: Command, error: Error): void {
  const { onResult } = command
  command.onResult = nothing
  command.execute = () => false
  if (typeof onResult === 'function') onResult(command.constructor.name === 'Quit' ? null : error)
  else if (command.listenerCount?.('error')) command.emit?.('error', error)
  command.emit?.('end')
}

/** The caller of an execute() gets only this error, and not also that of its PREPARE. */
function tellOnce(onResult: OnResult, error: Error, prepare: Command | undefined): void {
  if (prepare !== undefined) prepare.onResult = nothing
  nextTick(onResult, error)
}

function nothing(): void {}
