/** The differences between SQL databases and their clients. */
import type { Arm } from './arm.ts'
import type { Outcome } from './ledger.ts'
import type { How, Scopes } from './sql-history.ts'

export interface Statement {
  readonly sql: string
  readonly values?: readonly unknown[]
  readonly how?: How
}

export interface Answer {
  readonly rows: readonly Record<string, unknown>[]
  /** The database reported that it rolled the transaction back instead of the requested end. */
  readonly rolledBack: boolean
}

export interface Session {
  run(statement: Statement): Promise<Answer>
}

export interface Connection extends Session {
  /** Returns the connection to its pool, or ends a client. */
  giveBack(error?: unknown): Promise<void>
}

/** Ended by giveBack(), also after open() has failed. */
export interface Client extends Connection {
  open(): Promise<void>
}

export interface Pool extends Session {
  checkOut(): Promise<Connection>
  end(): Promise<void>
}

/** A scope's statements. `look` returns one column `held`. `key` distinguishes histories, `level` locks. */
export interface ScopeStatements {
  acquire(key: number, level: number): string
  release(key: number, level: number): string
  look(key: number, level: number): string
}

export interface SqlDriver {
  readonly scopes: Scopes
  readonly begin: string
  statementsOf(scope: string): ScopeStatements
  readonly local: Readonly<Record<'setting' | 'lock', ((key: number) => string) | undefined>>
  insert(history: number, write: number): Statement
  work(ms: number): string
  readonly fails: string
  /** Returns one column `held`: whether a transaction is open. */
  readonly inTransaction: string
  outcomeOf(error: unknown): Exclude<Outcome, 'pending' | 'done'>
  pool(arm: Arm, size: number): Pool
  client(arm: Arm): Client
  /** Returns what earlier users have left on a connection, one line each. */
  leftovers(connection: Session, key: number): Promise<string[]>
  /** How often each write of a history is there, read on a connection that is not under test. */
  written(history: number): Promise<Map<number, number>>
  /** Locks of a history that a session still holds. */
  locks(key: number): Promise<string[]>
}
