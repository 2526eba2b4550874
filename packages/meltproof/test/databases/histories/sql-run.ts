/** Runs one history on one arm, and checks the result. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Arm } from './arm.ts'
import { Ledger } from './ledger.ts'
import { inTime, LATE } from './patience.ts'
import type { Connection, SqlDriver } from './sql-driver.ts'
import { failsOnPurpose, isUnhurried, type SqlHistory } from './sql-history.ts'
import { LoneClient, type Scene, SqlUser } from './sql-user.ts'

/** Returns a line for each fault. */
export async function runSqlHistory(
  history: SqlHistory,
  arm: Arm,
  driver: SqlDriver,
  key: number,
  count: (what: string) => void = () => {},
): Promise<string[]> {
  const { patienceMs } = arm
  const faults: string[] = []
  const fault = (line: string): void => {
    faults.push(line)
  }
  const loneClient = history.users.some(({ on }) => on === 'lone') ? driver.client(arm) : undefined
  await loneClient?.open()
  const pool = driver.pool(arm, history.pool)
  const ledger = new Ledger()
  const lone = new LoneClient(loneClient)
  const scene: Scene = { driver, arm, pool, lone, ledger, key, fault }
  const users = history.users.map((user, index) => new SqlUser(scene, user, index))

  const moves = (): number => users.reduce((sum, user) => sum + user.moves, 0)
  const ended = await inTime(Promise.all(users.map(user => user.run())), patienceMs, moves)
  if (ended === LATE) {
    const where = users.filter(({ at }) => at !== 'its end').map(({ name, at }) => `${name} at ${at}`)
    fault(`hangs: ${where.join(', ')} for ${patienceMs} ms`)
    return faults
  }
  for (const [index, { error, name }] of users.entries()) {
    const user = history.users[index]!
    if (error !== undefined) count('users that got an error')
    if (error === undefined || failsOnPurpose(user)) continue
    // An earlier user may have left a lone client that must be closed.
    if (arm.name === 'bare' || (isUnhurried(user) && user.on !== 'lone')) {
      fault(`harmed: ${name} did nothing wrong and got: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const inDoubt = users.some(({ inDoubt }, index) => inDoubt && history.users[index]!.on === 'lone')
  if (loneClient !== undefined) await lookAtLone(loneClient, inDoubt)
  await lookAtPool()
  for (const line of await held()) fault(`locked: ${line}`)
  if ((await inTime(pool.end(), patienceMs)) === LATE) fault('hangs: the end of the pool')
  if (loneClient !== undefined && (await inTime(loneClient.giveBack(), patienceMs)) === LATE)
    fault('hangs: the end of the client')

  for (const write of ledger.writes) count(`writes expected ${write.expected}`)
  faults.push(...ledger.faults(await driver.written(key)))
  return faults

  /** Checks all connections of the pool at once, as its next users get them, and writes on each. */
  async function lookAtPool(): Promise<void> {
    const got = await inTime(
      Promise.allSettled(Array.from({ length: history.pool }, () => pool.checkOut())),
      patienceMs,
    )
    if (got === LATE) {
      fault(`hangs: the pool of ${history.pool} does not give out all its connections`)
      return
    }
    for (const each of got) {
      if (each.status === 'fulfilled') await lookAt(each.value)
      else fault(`refused: the pool gives out no connection: ${each.reason}`)
    }
    for (const each of got) if (each.status === 'fulfilled') await each.value.giveBack()
    await Promise.all(got.map(() => nextUser(driver.insert, 'pool.query()', pool)))
  }

  async function lookAt(connection: Connection): Promise<void> {
    try {
      for (const line of await driver.leftovers(connection, key)) fault(`leaked: the next user finds ${line}`)
    } catch (error) {
      fault(`leaked: the next user's first statement failed: ${error}`)
    }
    await nextUser(driver.insert, 'the next user', connection)
  }

  async function nextUser(insert: SqlDriver['insert'], name: string, on: Pick<Connection, 'run'>): Promise<void> {
    const write = ledger.write(name)
    try {
      await on.run({ ...insert(key, write.id), how: 'prepared' })
      write.outcome = 'done'
    } catch (error) {
      write.outcome = driver.outcomeOf(error)
      fault(`harmed: the insert of ${name} got: ${error}`)
    }
  }

  /** A closed lone client has rejected its users' statements. An open one must be as clean as its users left it. */
  async function lookAtLone(client: Connection, inDoubt: boolean): Promise<void> {
    const write = ledger.write('the lone client')
    try {
      await client.run(driver.insert(key, write.id))
      write.outcome = 'done'
    } catch (error) {
      write.outcome = driver.outcomeOf(error)
      count('lone clients closed')
      if (arm.name === 'bare') fault(`harmed: the lone client got: ${error}`)
      return
    }
    if (inDoubt) count('lone clients in doubt')
    else for (const line of await driver.leftovers(client, key)) fault(`leaked: the lone client is left with ${line}`)
  }

  /** Returns the locks that sessions still hold. An ended session keeps its locks for a moment. */
  async function held(): Promise<string[]> {
    // A lone client in doubt may hold a lock.
    if (inDoubt) return []
    for (let waitedMs = 0; ; waitedMs += 20) {
      const locks = await driver.locks(key)
      if (locks.length === 0 || waitedMs >= patienceMs / 5) return locks
      await sleep(20)
    }
  }
}
