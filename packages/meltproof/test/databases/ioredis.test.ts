/** meltproof/ioredis against a real Redis. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command, Redis } from 'ioredis'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { bound } from '../../src/databases/ioredis.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { block } from '../block.ts'
import { rejection } from '../rejection.ts'
import { skipWithout } from '../installed.ts'
import { type Running, startRedis } from './real-servers.ts'

const skip = skipWithout('redis-server', 'redis-server')
let server: Running

before(async () => {
  if (skip === false) server = await startRedis()
})
after(() => server?.stop())

interface OwnOptions {
  readonly port?: number
  readonly password?: string
  readonly db?: number
  readonly maxRetriesPerRequest?: null
  readonly enableAutoPipelining?: boolean
}

async function withRedis(run: (redis: Redis) => Promise<void>, options: OwnOptions = {}): Promise<void> {
  const redis = new Redis({ port: server.port, host: '127.0.0.1', ...options })
  redis.on('error', () => {})
  try {
    await run(redis)
  } finally {
    redis.disconnect()
  }
}

/** Stops the server during `run`: everything sent to it stays in its socket, however busy the machine is. */
async function whileAsleep<T>(run: () => Promise<T>): Promise<T> {
  server.child!.kill('SIGSTOP')
  try {
    return await run()
  } finally {
    server.child!.kill('SIGCONT')
  }
}

test('quick commands work as without bound(): alone, in pipelines and in transactions', { skip }, () =>
  withRedis(async redis => {
    assert.equal(bound(redis), redis)
    bound(redis)
    assert.equal(await redis.set('a', '1'), 'OK')
    assert.equal(await redis.get('a'), '1')
    assert.deepEqual(await redis.pipeline().incr('n').incr('n').exec(), [
      [null, 1],
      [null, 2],
    ])
    assert.deepEqual(await redis.multi().set('t', '1').get('t').exec(), [
      [null, 'OK'],
      [null, '1'],
    ])
    assert.match(String(await rejection(redis.call('NONSENSE'))), /unknown command/)
    assert.equal(pendingFairTimers(), 0)
  }),
)

test(
  'a command past its deadline rejects in time, and later answers reach their own commands on the same connection',
  { skip },
  () =>
    withRedis(async redis => {
      bound(redis, { commandMs: 200 })
      await redis.set('k', 'right')
      const port = (redis as unknown as { stream: { localPort: number } }).stream.localPort
      const error = await whileAsleep(() => rejection(redis.get('k')))
      assert.ok(error instanceof DeadlineExceededError)
      assert.equal(error.phase, 'command')
      assert.match(error.message, /the Redis command GET took more than 200 ms/)
      const echoes = await Promise.all(Array.from({ length: 50 }, (_, i) => redis.echo(`e${i}`)))
      assert.deepEqual(
        echoes,
        Array.from({ length: 50 }, (_, i) => `e${i}`),
      )
      assert.equal((redis as unknown as { stream: { localPort: number } }).stream.localPort, port, 'it has reconnected')
      assert.equal(pendingFairTimers(), 0)
    }),
)

test('a pipeline or transaction past its deadline rejects, and later answers reach their own commands', { skip }, () =>
  withRedis(async redis => {
    bound(redis)
    await redis.set('k', 'right')
    await whileAsleep(async () => {
      const pipelined = await within(60_000, () =>
        within(150, () => redis.pipeline().get('k').get('k').exec()).catch(error => error),
      )
      assert.ok(
        pipelined instanceof DeadlineExceededError ||
          (pipelined as [unknown][]).every(([error]) => error instanceof DeadlineExceededError),
      )
      assert.ok(
        (await rejection(within(100, () => redis.multi().set('k', 'other').get('k').exec()))) instanceof
          DeadlineExceededError,
      )
    })
    assert.equal(await redis.echo('mine'), 'mine')
    assert.deepEqual(await redis.multi().set('x', '1').get('x').exec(), [
      [null, 'OK'],
      [null, '1'],
    ])
  }),
)

test('a command outside the budget runs within the grace period, and is refused after it', { skip }, () =>
  withRedis(async redis => {
    bound(redis)
    await redis.set('k', 'v')
    const refused = Promise.withResolvers<unknown>()
    const late = within(1, async () => {
      await sleep(50)
      assert.equal(await redis.get('k'), 'v', 'it may be part of a cleanup')
      await sleep(2500) // stalls of a busy machine extend limits
      refused.resolve(await rejection(redis.del('k')))
    })
    await rejection(late)
    assert.ok((await refused.promise) instanceof DeadlineExceededError)
    assert.equal(await redis.get('k'), 'v')
    assert.ok(
      (await rejection(within(0.5, () => redis.blpop('empty', 0), { needsMs: 0 }))) instanceof DeadlineExceededError,
    )
  }),
)

test('without commandMs, a command outside the budget runs within the grace period as well', { skip }, () =>
  withRedis(async redis => {
    bound(redis, { commandMs: false })
    const value = Promise.withResolvers<unknown>()
    const late = within(1, async () => {
      await sleep(50)
      value.resolve(redis.incr('cleaned'))
    })
    await rejection(late)
    assert.equal(await value.promise, 1)
  }),
)

test('blocking commands are limited by the budget alone', { skip }, () =>
  withRedis(async redis => {
    bound(redis, { commandMs: 80 })
    assert.equal(await redis.blpop('empty', 0.4), null)
    assert.equal(await redis.xread('BLOCK', 300, 'STREAMS', 'none', '$'), null)
    assert.ok((await rejection(within(60, () => redis.blpop('empty', 5)))) instanceof DeadlineExceededError)
  }),
)

test('every command that ioredis knows as blocking is limited by the budget alone', async () => {
  const sendCommand = (command: Command): unknown => command.promise
  const stub = bound({ status: 'ready', options: {}, sendCommand }, { commandMs: 20 })
  const limited: string[] = []
  for (const name of Command.FLAGS.BLOCKING_COMMANDS) {
    const command = new Command(name, ['BLOCK', '0'])
    command.promise.catch(() => limited.push(name))
    stub.sendCommand(command)
  }
  const get = new Command('get', ['k'])
  stub.sendCommand(get)
  assert.ok((await rejection(get.promise)) instanceof DeadlineExceededError)
  assert.deepEqual(limited, [])
})

test('without a connection, commandMs still applies', {
  skip,
}, async () => {
  const port = await freePort()
  await withRedis(
    async redis => {
      bound(redis, { commandMs: 120 })
      const error = await rejection(redis.get('k'))
      assert.ok(error instanceof DeadlineExceededError)
    },
    { port, maxRetriesPerRequest: null },
  )
})

test('subscriptions outlast commandMs', { skip }, () =>
  withRedis(redis =>
    withRedis(async publisher => {
      bound(redis, { commandMs: 50 })
      await redis.subscribe('news')
      const message = once(redis, 'message')
      await sleep(120)
      await publisher.publish('news', 'hello')
      assert.deepEqual(await message, ['news', 'hello'])
    }),
  ),
)

test('the handshake after a reconnect works under commandMs', { skip }, async () => {
  const own = await startRedis('--requirepass', 'secret')
  await withRedis(
    async redis => {
      bound(redis)
      assert.equal(await redis.echo('before'), 'before')
      ;(redis as unknown as { stream: { destroy(): void } }).stream.destroy()
      assert.equal(await redis.echo('after'), 'after')
    },
    { port: own.port, password: 'secret', db: 3 },
  )
  await own.stop()
})

test('auto-pipelined commands each have the budget of their request', { skip }, () =>
  withRedis(
    async redis => {
      bound(redis)
      await redis.set('k', 'v')
      const [first, second] = await Promise.allSettled([
        within(5, () => redis.get('k').then(() => sleep(50))),
        redis.get('k'),
      ])
      assert.equal(first.status, 'rejected')
      assert.deepEqual(second, { status: 'fulfilled', value: 'v' })
    },
    { enableAutoPipelining: true },
  ),
)

test('an answer in the socket beats a deadline that passed while the loop stalled, in 30 of 30 runs', { skip }, () =>
  withRedis(async redis => {
    // The time to connect is not part of this test.
    await redis.ping()
    bound(redis, { commandMs: 60 })
    for (let i = 0; i < 30; i++) {
      const answer = redis.echo(`e${i}`)
      process.nextTick(() => block(100))
      assert.equal(await answer, `e${i}`)
    }
  }),
)

test('bound() rejects anything but a known client, and says what it expects', () => {
  assert.throws(() => bound({}), /needs a client of the package ioredis \(5 or later\); got an object/)
  assert.throws(() => bound(new Redis({ lazyConnect: true }), { commandMs: -1 }), /commandMs must be/)
})
