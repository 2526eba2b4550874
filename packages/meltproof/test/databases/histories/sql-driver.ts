/** What differs between SQL databases and their clients. */
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
  /** The database ended the transaction otherwise than it was asked to, and said so. */
  readonly rolledBack: boolean
}

export interface Session {
  run(statement: Statement): Promise<Answer>
}

export interface Connection extends Session {
  /** Of a pool: back to it. Of a client: ends it. */
  giveBack(error?: unknown): Promise<void>
}

/** Ended by giveBack(), also when open() has failed. */
export interface Client extends Connection {
  open(): Promise<void>
}

export interface Pool extends Session {
  checkOut(): Promise<Connection>
  end(): Promise<void>
}

/** A scope's statements; `look` asks for one column `held`. `key` tells histories apart, `level` locks. */
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
  /** One column `held`: whether a transaction is open. */
  readonly inTransaction: string
  outcomeOf(error: unknown): Exclude<Outcome, 'pending' | 'done'>
  pool(arm: Arm, size: number): Pool
  client(arm: Arm): Client
  /** What the user before has left on a connection; a line each. */
  leftovers(connection: Session, key: number): Promise<string[]>
  /** How often each write of a history is there. Asked on a connection that is not under test. */
  written(history: number): Promise<Map<number, number>>
  /** Locks of a history that a server's session holds. */
  locks(key: number): Promise<string[]>
}
