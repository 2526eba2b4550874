/** Runs histories through an object-relational mapper on a real server, and checks the written rows. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Arena } from '../../packages/meltproof/test/databases/histories/arena.ts'
import type { Arm } from '../../packages/meltproof/test/databases/histories/arm.ts'
import { Ledger, type Transaction } from '../../packages/meltproof/test/databases/histories/ledger.ts'
import { inTime, LATE } from '../../packages/meltproof/test/databases/histories/patience.ts'
import { type OrmHistory, ormHistory, type OrmStep, sayOrmHistory, throwsOnPurpose } from './orm-history.ts'

export type Dialect = 'pg' | 'mysql'

export interface Doing {
  insert(history: number, id: number): PromiseLike<unknown>
  work(sql: string): PromiseLike<unknown>
  /** A savepoint. Undefined where the mapper has none. */
  nested?(run: (doing: Doing) => Promise<void>): Promise<unknown>
}

export interface Orm extends Doing {
  transaction(run: (doing: Doing) => Promise<void>): Promise<unknown>
  /** Explicit commit() and rollback(). Undefined where the mapper has only managed transactions. */
  byHand?(run: (doing: Doing) => Promise<void>): Promise<unknown>
  close(): Promise<unknown>
}

export interface Connection {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

/** The exports of a file of `source/`. */
export interface OrmModule {
  open(options: { dialect: Dialect; connection: Connection; size: number; bind: Arm['bind'] }): Orm | Promise<Orm>
}

export interface OrmServer {
  readonly dialect: Dialect
  readonly connection: Connection
  /** How often each write of a history is in the table, read by a client that is not under test. */
  written(history: number): Promise<Map<number, number>>
}

class OnPurpose extends Error {}

export function ormArena({ open }: OrmModule, server: OrmServer): Arena<OrmHistory> {
  return {
    histories: ormHistory,
    run: (history, arm, key, count) => run(history, arm, open, server, key, count),
    say: sayOrmHistory,
    stop: async () => {},
  }
}

async function run(
  history: OrmHistory,
  arm: Arm,
  open: OrmModule['open'],
  { dialect, connection, written }: OrmServer,
  key: number,
  count: (what: string) => void = () => {},
): Promise<string[]> {
  const { patienceMs } = arm
  const faults: string[] = []
  const ledger = new Ledger()
  const orm = await open({ dialect, connection, size: history.pool, bind: arm.bind })
  const pending = new Set<Promise<unknown>>()
  const errors = new Map<number, unknown>()

  const ended = await inTime(Promise.all(history.users.map((_, index) => user(index))), patienceMs)
  if (ended === LATE) return [`hangs: a user, after ${patienceMs} ms`]
  for (const [index, { ending, steps }] of history.users.entries()) {
    if (!errors.has(index)) continue
    count('users that got an error')
    if (throwsOnPurpose(steps) || (arm.name !== 'bare' && ending.by !== 'nothing')) continue
    faults.push(`harmed: user ${index + 1} did nothing wrong and got: ${errors.get(index)}`)
  }
  // Uses every connection of the pool at the same time, twice, so that each serves another request after the history.
  for (let round = 0; round < 2; round++) {
    const nexts = Promise.all(Array.from({ length: history.pool }, () => innocent()))
    if ((await inTime(nexts, patienceMs)) === LATE)
      return [...faults, 'hangs: the pool does not give out its connections']
  }
  if ((await inTime(Promise.resolve(orm.close()), patienceMs)) === LATE) faults.push('hangs: the end of the mapper')
  for (const { expected } of ledger.writes) count(`writes expected ${expected}`)
  return [...faults, ...ledger.faults(await written(key))]

  async function user(index: number): Promise<void> {
    const { startMs, ending, steps } = history.users[index]!
    await sleep(startMs)
    try {
      await arm.inTime(ending, () => carryOut(steps, orm, `user ${index + 1}`))
    } catch (error) {
      errors.set(index, error)
    }
    while (pending.size > 0) await Promise.allSettled(pending)
  }

  async function carryOut(
    steps: readonly OrmStep[],
    doing: Doing,
    by: string,
    transaction?: Transaction,
  ): Promise<void> {
    for (const step of steps) {
      if (step.do === 'insert') await write(doing, by, transaction)
      else if (step.do === 'think') await sleep(step.ms)
      else if (step.do === 'work') await tracked(doing.work(sleepSql(step.ms)))
      else if (step.do === 'nested') await nested(step, doing, by, transaction)
      else await transactionOf(step, by)
    }
  }

  async function write(doing: Doing, by: string, transaction?: Transaction): Promise<void> {
    const noted = ledger.write(by, transaction)
    try {
      await tracked(doing.insert(key, noted.id))
      noted.outcome = 'done'
    } catch (error) {
      // Mappers wrap errors in different ways, so the error does not prove that the write was refused.
      noted.outcome = 'unknown'
      throw error
    }
  }

  async function nested(step: OrmStep & { do: 'nested' }, doing: Doing, by: string, transaction?: Transaction) {
    if (doing.nested === undefined) return carryOut(step.steps, doing, by, transaction)
    const first = ledger.writes.length
    const mine = (): typeof ledger.writes =>
      ledger.writes.slice(first).filter(each => each.by === by && each.transaction === transaction)
    try {
      await doing.nested(async inner => {
        await carryOut(step.steps, inner, by, transaction)
        if (step.throws) throw new OnPurpose('thrown on purpose')
      })
    } catch (error) {
      for (const noted of mine()) noted.undone = error instanceof OnPurpose ? 'done' : 'unknown'
      if (!(error instanceof OnPurpose)) throw error
    }
  }

  async function transactionOf(step: OrmStep & { do: 'transaction' }, by: string): Promise<void> {
    const transaction = ledger.begin()
    let worked = false
    const body = async (doing: Doing): Promise<void> => {
      await carryOut(step.steps, doing, by, transaction)
      if (step.throws) throw new OnPurpose('thrown on purpose')
      worked = true
    }
    try {
      await (step.how === 'by hand' && orm.byHand !== undefined ? orm.byHand(body) : orm.transaction(body))
      transaction.commit = 'done'
    } catch (error) {
      // If its body did not complete, the transaction must not be committed.
      transaction.commit = worked ? 'unknown' : 'refused'
      throw error
    }
  }

  async function innocent(): Promise<void> {
    const noted = ledger.write('an innocent request')
    try {
      await orm.insert(key, noted.id)
      noted.outcome = 'done'
    } catch (error) {
      noted.outcome = 'unknown'
      faults.push(`harmed: the insert of an innocent request got: ${error}`)
    }
  }

  /** Mappers return thenables that send their query again for each then(). Promise.resolve() calls then() only once. */
  function tracked<T>(query: PromiseLike<T>): Promise<T> {
    const promise = Promise.resolve(query)
    const settled = (): void => void pending.delete(promise)
    pending.add(promise)
    promise.then(settled, settled)
    return promise
  }

  function sleepSql(ms: number): string {
    return dialect === 'pg' ? `select 1 from pg_sleep(${ms / 1000})` : `select sleep(${ms / 1000})`
  }
}
