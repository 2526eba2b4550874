/** Runs one history on Redis on one arm, and checks the result. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Arm } from './arm.ts'
import { Jobs } from './jobs.ts'
import { Ledger } from './ledger.ts'
import { inTime, LATE } from './patience.ts'
import { failsOnPurpose, isUnhurried, type RedisHistory } from './redis-history.ts'
import { CONSTANT, outcomeOf, type RedisKey, RedisRun, type RedisScene } from './redis-user.ts'

const DATABASES = [0, 1]

export interface RedisServer {
  readonly port: number
  /** One connection to each database, not under test. */
  readonly watchers: readonly Redis[]
}

/** Returns a line for each fault. */
export async function runRedisHistory(
  history: RedisHistory,
  arm: Arm,
  { port, watchers }: RedisServer,
  key: number,
  count: (what: string) => void = () => {},
): Promise<string[]> {
  const { patienceMs } = arm
  const faults: string[] = []
  const fault = (line: string): void => {
    faults.push(line)
  }
  const keyOf = (name: RedisKey): string => `history:${key}:${name}`
  for (const watcher of watchers) await watcher.set(keyOf('constant'), CONSTANT)
  const connectionName = `history-${key}`
  const made: Redis[] = []
  const connect = (): Redis => {
    const redis = arm.bind(new Redis({ host: '127.0.0.1', port, connectionName }))
    redis.on('error', () => {})
    made.push(redis)
    return redis
  }
  const ledger = new Ledger()
  const jobs = new Jobs()
  const shared = connect()
  const lone = connect()
  let last: Promise<unknown> = Promise.resolve()
  const scene: RedisScene = {
    ...{ arm, ledger, jobs, shared, connect, keyOf, fault },
    lend(use) {
      const turn = last.then(() => use(lone))
      last = turn.catch(() => {})
      return turn
    },
  }
  const users = history.users.map((user, index) => new RedisRun(scene, user, index))
  const moves = (): number => users.reduce((sum, user) => sum + user.moves, 0)
  const ended = await inTime(Promise.all(users.map(user => user.run())), patienceMs, moves)
  if (ended === LATE) {
    const where = users.filter(({ at }) => at !== 'its end').map(({ name, at }) => `${name} at ${at}`)
    fault(`hangs: ${where.join(', ')} for ${patienceMs} ms`)
    for (const redis of made) redis.disconnect()
    return faults
  }
  for (const [index, { error, name }] of users.entries()) {
    const user = history.users[index]!
    if (error !== undefined) count('users that got an error')
    if (error === undefined || failsOnPurpose(user) || (arm.name !== 'bare' && !isUnhurried(user))) continue
    fault(`harmed: ${name} did nothing wrong and got: ${error instanceof Error ? error.message : String(error)}`)
  }
  await lookAtData()
  const doubts = new Set(
    users.flatMap(({ inDoubt }, index) => (history.users[index]!.on === 'lone' ? [...inDoubt] : [])),
  )
  for (const [name, redis] of [['the shared connection', shared] as const, ['the lone connection', lone] as const]) {
    if ((await inTime(lookAt(name, redis, name === 'the lone connection' ? doubts : new Set()), patienceMs)) === LATE) {
      fault(`hangs: ${name}, when it is used again`)
    }
  }
  for (const redis of [shared, lone]) if ((await inTime(redis.quit(), patienceMs)) === LATE) fault('hangs: QUIT')
  for (const line of await left()) fault(line)
  // A leftover connection would reconnect again and again.
  for (const redis of made) redis.disconnect()
  for (const write of ledger.writes) count(`writes expected ${write.expected}`)
  if (jobs.inDoubt > 0) count('LPOP in doubt')
  return faults

  async function lookAtData(): Promise<void> {
    const found = new Map<number, number>()
    const lists = { jobs: [] as number[], claimed: [] as number[] }
    for (const [database, watcher] of watchers.entries()) {
      const log = await watcher.lrange(keyOf('log'), 0, -1)
      for (const id of log.map(entry => Number.parseInt(entry, 10))) found.set(id, (found.get(id) ?? 0) + 1)
      const increments = log.filter(entry => entry.endsWith('+')).length
      const counter = Number((await watcher.get(keyOf('counter'))) ?? 0)
      if (counter !== increments) fault(`lost: ${increments} increments were done, and the counter is ${counter}`)
      for (const name of ['jobs', 'claimed'] as const) {
        lists[name].push(...(await watcher.lrange(keyOf(name), 0, -1)).map(Number))
      }
      const owner = await watcher.get(keyOf('lock'))
      const run = users.find(({ name }) => name === owner)
      if (owner !== null && run?.inDoubt.has('lock') !== true)
        fault(`locked: ${owner} still has it in database ${database}`)
    }
    faults.push(...ledger.faults(found), ...jobs.faults(lists.jobs, lists.claimed))
  }

  async function lookAt(name: string, redis: Redis, inDoubt: ReadonlySet<string>): Promise<void> {
    const write = ledger.write(name)
    try {
      const info = String(await redis.client('INFO'))
      const field = (of: string): string => new RegExp(`\\b${of}=(\\S+)`).exec(info)?.[1] ?? '?'
      if (field('multi') !== '-1' && !inDoubt.has('multi')) fault(`leaked: ${name} is in a MULTI`)
      if (field('sub') !== '0' && !inDoubt.has('subscription')) fault(`leaked: ${name} is subscribed`)
      if (field('db') !== '0' && !inDoubt.has('database')) fault(`leaked: ${name} is in database ${field('db')}`)
      const read = await redis.get(keyOf('constant'))
      if (read !== CONSTANT) fault(`garbled: ${name} read ${JSON.stringify(read)}`)
      for (const watcher of watchers) await watcher.incr(keyOf('counter'))
      const answers = await redis.multi().ping().exec()
      if (answers === null && !inDoubt.has('watch')) fault(`leaked: ${name} still watches a key`)
      await redis.rpush(keyOf('log'), write.id)
      write.outcome = 'done'
    } catch (error) {
      write.outcome = outcomeOf(error)
      fault(`harmed: the next user of ${name} got: ${error}`)
    }
  }

  /** Connections that the server still has. They take a moment to close. */
  async function left(): Promise<string[]> {
    for (let waitedMs = 0; ; waitedMs += 20) {
      const clients = String(await watchers[0]!.client('LIST')).split('\n')
      const those = clients.filter(line => line.includes(` name=${connectionName} `))
      if (those.length === 0) return []
      if (waitedMs >= patienceMs / 5) return those.map(line => `leaked: the server still has the connection ${line}`)
      await sleep(20)
    }
  }
}

/** Connections for observing, one to each database that histories use. */
export function watchersOf(port: number): Redis[] {
  return DATABASES.map(db => new Redis({ host: '127.0.0.1', port, db }))
}
