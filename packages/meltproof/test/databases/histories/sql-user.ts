/** Runs one user's program as an app would, and records the outcomes in the ledger. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Arm } from './arm.ts'
import type { Ledger, Transaction } from './ledger.ts'
import type { Answer, Connection, Pool, Session, SqlDriver, Statement } from './sql-driver.ts'
import type { How, ScopeName, Step, Steps, User } from './sql-history.ts'

/** Shared by the users of a history. */
export interface Scene {
  readonly driver: SqlDriver
  readonly arm: Arm
  readonly pool: Pool
  readonly lone: LoneClient
  readonly ledger: Ledger
  /** Unique to the history on this server. */
  readonly key: number
  fault(line: string): void
}

/** One client, lent to one user after the other. */
export class LoneClient {
  readonly connection: Connection | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(connection: Connection | undefined) {
    this.connection = connection
  }

  lend<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => use(this.connection!))
    this.#last = turn.catch(() => {})
    return turn
  }
}

class OnPurpose extends Error {}

export class SqlUser {
  readonly name: string
  /** The current step, for the report of a hang. */
  at = 'the start'
  /** Statements sent plus answers received. */
  moves = 0
  /** The error with which its program rejected. */
  error: unknown
  /** A statement that acquires or releases state of a lone client's session ended with an unknown outcome. */
  inDoubt = false
  readonly #scene: Scene
  readonly #user: User
  readonly #pending = new Set<Promise<unknown>>()
  readonly #held: { readonly name: ScopeName; readonly level: number }[] = []
  #transaction: Transaction | undefined
  #savepoints = 0

  constructor(scene: Scene, user: User, index: number) {
    this.#scene = scene
    this.#user = user
    this.name = `user ${index + 1}`
  }

  /** Never rejects. Settles when none of its statements is under way, including those that it did not await. */
  async run(): Promise<void> {
    const { startMs, ending } = this.#user
    await sleep(startMs)
    try {
      await this.#scene.arm.inTime(ending, () => this.#program())
      this.at = 'its end'
    } catch (error) {
      this.error = error
    }
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
  }

  async #program(): Promise<void> {
    const { driver, pool, lone, arm } = this.#scene
    const { on, steps } = this.#user
    if (on === 'pool') await this.#steps(steps, pool)
    else if (on === 'lone') await lone.lend(connection => this.#steps(steps, connection))
    else if (on === 'own') {
      const client = driver.client(arm)
      try {
        this.at = 'connect()'
        await client.open()
        await this.#steps(steps, client)
      } finally {
        this.at = 'the end of its client'
        await client.giveBack()
      }
    } else await this.#checkedOut()
  }

  async #checkedOut(): Promise<void> {
    this.at = 'the checkout'
    const connection = await this.#scene.pool.checkOut()
    let failed: unknown
    try {
      await this.#steps(this.#user.steps, connection)
    } catch (error) {
      failed = error
      throw error
    } finally {
      await connection.giveBack(this.#user.releasesWithError ? failed : undefined)
    }
  }

  async #steps(steps: Steps, session: Session): Promise<void> {
    for (const step of steps) await this.#step(step, session)
  }

  async #step(step: Step, session: Session): Promise<void> {
    const { driver, key } = this.#scene
    switch (step.do) {
      case 'write':
        await this.#write(session, step.how)
        break
      case 'together':
        await Promise.all(Array.from({ length: step.writes }, () => this.#write(session, 'text')))
        break
      case 'read':
        await this.#send(session, { sql: 'select 1 as one', how: step.how })
        break
      case 'work':
        await this.#send(session, { sql: driver.work(step.ms) })
        break
      case 'think':
        this.at = 'a thought'
        await sleep(step.ms)
        break
      case 'fail':
        await this.#send(session, { sql: driver.fails })
        break
      case 'look':
        await this.#look(session)
        break
      case 'limited':
        await this.#limited(step, session)
        break
      case 'local': {
        const sql = driver.local[step.what]?.(key)
        if (sql !== undefined) await this.#send(session, { sql })
        break
      }
      case 'scope':
        await this.#scope(step, session)
        break
      case 'transaction':
        await this.#transactionOf(step, session)
        break
      case 'savepoint':
        await this.#savepoint(step, session)
        break
    }
  }

  #send(session: Session, statement: Statement): Promise<Answer> {
    this.at = statement.sql
    this.moves++
    const sent = session.run(statement)
    this.#pending.add(sent)
    const settled = (): void => {
      this.moves++
      this.#pending.delete(sent)
    }
    sent.then(settled, settled)
    return sent
  }

  #write(session: Session, how: How): Promise<Answer> {
    const { ledger, driver, key } = this.#scene
    const write = ledger.write(this.name, this.#transaction)
    const sent = this.#send(session, { ...driver.insert(key, write.id), how })
    sent.then(
      () => {
        write.outcome = 'done'
      },
      error => {
        write.outcome = driver.outcomeOf(error)
      },
    )
    return sent
  }

  async #look(session: Session): Promise<void> {
    const { driver, key, fault } = this.#scene
    const scope = this.#held.at(-1)
    const sql = scope === undefined ? driver.inTransaction : driver.statementsOf(scope.name).look(key, scope.level)
    const { rows } = await this.#send(session, { sql })
    if (Number(rows[0]?.['held']) !== 1) {
      fault(`vanished: ${this.name} has its ${scope?.name ?? 'transaction'} no more, and was not told`)
    }
  }

  async #limited({ ms, caught, step }: Step & { do: 'limited' }, session: Session): Promise<void> {
    try {
      await this.#scene.arm.within(ms, () => this.#step(step, session))
    } catch (error) {
      if (!caught) throw error
    }
  }

  async #scope({ name, acquire, steps }: Step & { do: 'scope' }, session: Session): Promise<void> {
    const { driver, key } = this.#scene
    const level = this.#held.length + (this.#transaction === undefined ? 0 : 10)
    const statements = driver.statementsOf(name)
    const take = async (): Promise<void> => {
      const { rows } = await this.#sendInDoubt(session, statements.acquire(key, level))
      const held = rows[0]?.['held']
      if (held !== undefined && Number(held) !== 1) throw new Error(`it did not get its ${name}`)
    }
    if (acquire === 'before') await take()
    const depth = this.#held.length
    try {
      if (acquire === 'inside') await take()
      this.#held.push({ name, level })
      await this.#steps(steps, session)
    } finally {
      this.#held.length = depth
      await this.#sendInDoubt(session, statements.release(key, level))
    }
  }

  #sendInDoubt(session: Session, sql: string): Promise<Answer> {
    const sent = this.#send(session, { sql })
    sent.catch(error => {
      this.inDoubt ||= this.#scene.driver.outcomeOf(error) === 'unknown'
    })
    return sent
  }

  async #transactionOf({ shape, end, steps }: Step & { do: 'transaction' }, session: Session): Promise<void> {
    const transaction = this.#scene.ledger.begin()
    const rollback = (): Promise<Answer> => this.#send(session, { sql: 'ROLLBACK' })
    this.#transaction = transaction
    try {
      await this.#send(session, { sql: this.#scene.driver.begin })
      const worked = this.#steps(steps, session)
      await (shape === 'stubborn' ? worked.catch(() => {}) : worked)
      if (end === 'throw' && shape !== 'stubborn') throw new OnPurpose('thrown on purpose')
      if (end === 'rollback') await rollback()
      else await this.#commit(transaction, session)
    } catch (error) {
      if (shape === 'textbook') await rollback()
      else if (shape === 'quiet') await rollback().catch(() => {})
      else if (shape === 'unwaited') rollback().catch(() => {})
      throw error
    } finally {
      this.#transaction = undefined
    }
  }

  async #commit(transaction: Transaction, session: Session): Promise<void> {
    try {
      const { rolledBack } = await this.#send(session, { sql: 'COMMIT' })
      transaction.commit = rolledBack ? 'refused' : 'done'
    } catch (error) {
      transaction.commit = this.#scene.driver.outcomeOf(error)
      throw error
    }
  }

  async #savepoint({ end, caught, steps }: Step & { do: 'savepoint' }, session: Session): Promise<void> {
    const { ledger } = this.#scene
    const name = `s${++this.#savepoints}`
    const first = ledger.writes.length
    const undo = async (): Promise<void> => {
      const mine = ledger.writes.slice(first).filter(({ by }) => by === this.name)
      try {
        await this.#send(session, { sql: `ROLLBACK TO SAVEPOINT ${name}` })
        for (const write of mine) write.undone = 'done'
      } catch (error) {
        for (const write of mine) write.undone ??= 'unknown'
        throw error
      }
    }
    await this.#send(session, { sql: `SAVEPOINT ${name}` })
    try {
      await this.#steps(steps, session)
      if (end === 'throw') throw new OnPurpose('thrown on purpose')
      if (end === 'rollback') await undo()
      else await this.#send(session, { sql: `RELEASE SAVEPOINT ${name}` })
    } catch (error) {
      await undo()
      if (!caught) throw error
    }
  }
}
