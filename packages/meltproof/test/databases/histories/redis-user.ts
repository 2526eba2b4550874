/** Runs one user's program on Redis as an app would, and records the outcomes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { DeadlineExceededError } from '../../../src/deadline/index.ts'
import { isMeltproofError } from '../../../src/errors.ts'
import type { Arm } from './arm.ts'
import type { Jobs } from './jobs.ts'
import type { Ledger, Outcome, Transaction, Write } from './ledger.ts'
import type { RedisStep, RedisSteps, RedisUser } from './redis-history.ts'

export interface RedisScene {
  readonly arm: Arm
  readonly ledger: Ledger
  readonly jobs: Jobs
  readonly shared: Redis
  /** Lends the one connection to one user after the other. */
  lend<T>(use: (redis: Redis) => Promise<T>): Promise<T>
  /** Opens a connection for one user. */
  connect(): Redis
  keyOf(name: RedisKey): string
  fault(line: string): void
}

export type RedisKey = 'log' | 'constant' | 'counter' | 'jobs' | 'claimed' | 'lock' | 'nothing' | 'channel'

export const CONSTANT = 'constant'
const UNLOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
/** Busy for some ms, counted in iterations, because a script has no clock. */
const BUSY = 'local n = 0 for i = 1, ARGV[1] * 100000 do n = n + i end return n'

export function outcomeOf(error: unknown): Exclude<Outcome, 'pending' | 'done'> {
  if (error instanceof DeadlineExceededError) return error.phase === 'refused' ? 'refused' : 'unknown'
  if (isMeltproofError(error)) return error.code === 'MELTPROOF_CANCELLED' ? 'unknown' : 'refused'
  return (error as Error | undefined)?.name === 'ReplyError' ? 'refused' : 'unknown'
}

class OnPurpose extends Error {}

export class RedisRun {
  readonly name: string
  at = 'the start'
  /** Commands sent plus answers received. */
  moves = 0
  error: unknown
  /** Things whose acquiring or releasing command ended with an unknown outcome. */
  readonly inDoubt = new Set<string>()
  readonly #scene: RedisScene
  readonly #user: RedisUser
  readonly #pending = new Set<Promise<unknown>>()
  #transaction: Transaction | undefined

  constructor(scene: RedisScene, user: RedisUser, index: number) {
    this.#scene = scene
    this.#user = user
    this.name = `user ${index + 1}`
  }

  /** Never rejects. Settles when none of its commands is under way. */
  async run(): Promise<void> {
    await sleep(this.#user.startMs)
    try {
      await this.#scene.arm.inTime(this.#user.ending, () => this.#program())
      this.at = 'its end'
    } catch (error) {
      this.error = error
    }
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
  }

  async #program(): Promise<void> {
    const { shared, lend, connect } = this.#scene
    const { on, steps } = this.#user
    if (on === 'shared') await this.#steps(steps, shared)
    else if (on === 'lone') await lend(redis => this.#steps(steps, redis))
    else {
      const redis = connect()
      try {
        await this.#steps(steps, redis)
      } finally {
        await this.#send('QUIT', redis.quit())
      }
    }
  }

  async #steps(steps: RedisSteps, redis: Redis): Promise<void> {
    for (const step of steps) await this.#step(step, redis)
  }

  async #step(step: RedisStep, redis: Redis): Promise<unknown> {
    const { keyOf, arm } = this.#scene
    switch (step.do) {
      case 'write':
        return this.#write(step.how, redis)
      case 'together':
        return Promise.all(Array.from({ length: step.writes }, () => this.#write('command', redis)))
      case 'multi':
        return this.#multi(step.writes, redis)
      case 'read':
        return this.#check(await this.#send('GET', redis.get(keyOf('constant'))))
      case 'think':
        this.at = 'a thought'
        return sleep(step.ms)
      case 'work':
        return this.#send('EVAL', redis.eval(BUSY, 0, step.ms))
      case 'fail':
        return this.#send('INCR', redis.incr(keyOf('constant')))
      case 'idle':
        return this.#send('BLPOP', redis.blpop(keyOf('nothing'), step.ms / 1000))
      case 'push':
        return this.#push(step.jobs, redis)
      case 'pop':
        return this.#pop(step, redis)
      case 'increment':
        return this.#increment(step.thinkMs, redis)
      case 'interactive':
        return this.#interactive(step, redis)
      case 'scope':
        return step.name === 'lock' ? this.#locked(step, redis) : this.#scope(step, redis)
      case 'limited':
        try {
          return await arm.within(step.ms, () => this.#step(step.step, redis))
        } catch (error) {
          if (!step.caught) throw error
          return undefined
        }
    }
  }

  #send<T>(what: string, sent: Promise<T>): Promise<T> {
    this.at = what
    this.moves++
    this.#pending.add(sent)
    const settled = (): void => {
      this.moves++
      this.#pending.delete(sent)
    }
    sent.then(settled, settled)
    return sent
  }

  #check(answer: unknown): void {
    if (answer !== CONSTANT) {
      this.#scene.fault(`garbled: ${this.name} read ${JSON.stringify(answer)} instead of '${CONSTANT}'`)
    }
  }

  async #write(how: 'command' | 'pipeline', redis: Redis): Promise<void> {
    const { ledger, keyOf, fault } = this.#scene
    const transaction = this.#transaction
    const write = ledger.write(this.name, transaction)
    try {
      if (how === 'pipeline') {
        const pipeline = redis.pipeline().rpush(keyOf('log'), write.id).get(keyOf('constant'))
        const [written, read] = (await this.#send('a pipeline', pipeline.exec()))!
        if (written![0]) throw written![0]
        write.outcome = 'done'
        if (read![0]) throw read![0]
        this.#check(read![1])
        return
      }
      const answer = await this.#send('RPUSH', redis.rpush(keyOf('log'), write.id))
      write.outcome = 'done'
      const isQueued = (answer as unknown) === 'QUEUED'
      if (isQueued !== (transaction !== undefined)) {
        fault(`${isQueued ? 'garbled' : 'vanished'}: RPUSH of ${this.name} was answered ${answer}`)
      }
    } catch (error) {
      if (write.outcome === 'pending') write.outcome = outcomeOf(error)
      throw error
    }
  }

  async #multi(count: number, redis: Redis): Promise<void> {
    const { ledger, keyOf } = this.#scene
    const transaction = ledger.begin()
    const multi = redis.multi()
    for (let i = 0; i < count; i++) {
      const write = ledger.write(this.name, transaction)
      write.outcome = 'done'
      multi.rpush(keyOf('log'), write.id)
    }
    await this.#exec(transaction, multi.exec())
  }

  /** Returns true if the transaction was executed. */
  async #exec(transaction: Transaction, sent: Promise<[Error | null, unknown][] | null>): Promise<boolean> {
    try {
      const answers = await this.#send('EXEC', sent)
      const failed = answers?.find(([error]) => error !== null)?.[0]
      if (failed) throw failed
      transaction.commit = answers === null ? 'refused' : 'done'
      return answers !== null
    } catch (error) {
      transaction.commit = outcomeOf(error)
      throw error
    }
  }

  async #push(count: number, redis: Redis): Promise<void> {
    const { jobs, keyOf } = this.#scene
    const ids = jobs.make(this.name, count)
    try {
      await this.#send('RPUSH', redis.rpush(keyOf('jobs'), ...ids))
      jobs.pushed(ids, 'done')
    } catch (error) {
      jobs.pushed(ids, outcomeOf(error))
      throw error
    }
  }

  async #pop({ how, waitMs }: RedisStep & { do: 'pop' }, redis: Redis): Promise<void> {
    const { jobs, keyOf } = this.#scene
    const from = keyOf('jobs')
    const to = keyOf('claimed')
    const seconds = waitMs / 1000
    if (how === 'lpop' || how === 'blpop') {
      const popped: Promise<unknown> = how === 'lpop' ? redis.lpop(from) : redis.blpop(from, seconds)
      popped.catch(error => {
        if (how === 'lpop' && outcomeOf(error) === 'unknown') jobs.inDoubt++
      })
      const answer = await this.#send(how, popped)
      const id = Array.isArray(answer) ? answer[1] : answer
      if (id !== null) jobs.got(Number(id), this.name)
      return
    }
    // The types of ioredis wrongly declare that brpoplpush returns a list.
    const moved = (
      how === 'brpoplpush' ? redis.brpoplpush(from, to, seconds) : redis.blmove(from, to, 'LEFT', 'RIGHT', seconds)
    ) as Promise<unknown>
    const id = (await this.#send(how, moved)) as string | null
    if (id === null) return
    jobs.got(Number(id), this.name)
    await this.#send('LREM', redis.lrem(to, 1, id))
  }

  async #increment(thinkMs: number, redis: Redis): Promise<void> {
    const { ledger, keyOf } = this.#scene
    const counter = keyOf('counter')
    try {
      await this.#send('WATCH', redis.watch(counter))
      const seen = Number((await this.#send('GET', redis.get(counter))) ?? 0)
      await sleep(thinkMs)
      const transaction = ledger.begin()
      const write: Write = ledger.write(`${this.name} (increment)`, transaction)
      write.outcome = 'done'
      const multi = redis
        .multi()
        .set(counter, seen + 1)
        .rpush(keyOf('log'), `${write.id}+`)
      await this.#exec(transaction, multi.exec())
    } finally {
      await this.#doubtful('watch', 'UNWATCH', redis.unwatch())
    }
  }

  async #interactive({ end, steps }: RedisStep & { do: 'interactive' }, redis: Redis): Promise<void> {
    const transaction = this.#scene.ledger.begin()
    try {
      await this.#send('MULTI', redis.multi({ pipeline: false }))
      this.#transaction = transaction
      await this.#steps(steps, redis)
      if (end === 'throw') throw new OnPurpose('thrown on purpose')
      if (end === 'discard') await this.#send('DISCARD', redis.discard())
      else await this.#exec(transaction, redis.exec())
    } catch (error) {
      await this.#doubtful('multi', 'DISCARD', redis.discard())
      throw error
    } finally {
      this.#transaction = undefined
    }
  }

  /** Like `#send`, for a command that acquires or releases state of the connection. */
  #doubtful<T>(what: string, command: string, sent: Promise<T>): Promise<T> {
    sent.catch(error => {
      if (outcomeOf(error) === 'unknown') this.inDoubt.add(what)
    })
    return this.#send(command, sent)
  }

  async #scope({ name, steps }: RedisStep & { do: 'scope' }, redis: Redis): Promise<void> {
    const channel = this.#scene.keyOf('channel')
    const isDatabase = name === 'database'
    try {
      await this.#doubtful(name, 'its start', isDatabase ? redis.select(1) : redis.subscribe(channel))
      await this.#steps(steps, redis)
    } finally {
      await this.#doubtful(name, 'its end', isDatabase ? redis.select(0) : redis.unsubscribe(channel))
    }
  }

  async #locked({ acquire, steps }: RedisStep & { do: 'scope' }, redis: Redis): Promise<void> {
    const lock = this.#scene.keyOf('lock')
    const take = (): Promise<'OK' | null> => this.#send('SET NX', redis.set(lock, this.name, 'NX'))
    const release = (): Promise<unknown> =>
      this.#doubtful('lock', 'the release of its lock', redis.eval(UNLOCK, 1, lock, this.name))
    if (acquire === 'before') {
      const taken = take()
      taken.catch(error => {
        if (outcomeOf(error) === 'unknown') this.inDoubt.add('lock')
      })
      // Another user has the lock, and the app continues without it.
      if ((await taken) === null) return
      try {
        await this.#steps(steps, redis)
      } finally {
        await release()
      }
      return
    }
    try {
      if ((await take()) !== null) await this.#steps(steps, redis)
    } finally {
      await release()
    }
  }
}
