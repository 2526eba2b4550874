/** A deadline ends work, never cleanup (docs/databases.md): meltproof/ioredis and bare ioredis against a real Redis. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { bound } from '../../src/databases/ioredis.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { skipWithout } from '../installed.ts'
import { rejection } from '../rejection.ts'
import { type Running, startRedis } from './real-servers.ts'

const skip = skipWithout('redis-server', 'redis-server')
/** More than twice the deadlines of these tests: stalls of a busy machine extend limits. */
const LONGER_MS = 400
const DEADLINE_MS = 150

let server: Running
/** A client without limits, to observe the database. */
let watcher: Redis

before(async () => {
  if (skip !== false) return
  server = await startRedis()
  watcher = new Redis({ port: server.port, host: '127.0.0.1' })
})
after(async () => {
  watcher?.disconnect()
  await server?.stop()
})

const warnings: string[] = []
process.on('warning', warning => {
  if (warning.name === 'MeltproofWarning') warnings.push(warning.message)
})

type Wrap = <T extends object>(client: T) => T
const ARMS: [string, Wrap][] = [
  ['bare', client => client],
  ['bound', client => bound(client)],
]

async function withRedis(wrap: Wrap, run: (redis: Redis) => Promise<void>): Promise<void> {
  const redis = wrap(new Redis({ port: server.port, host: '127.0.0.1' }))
  redis.on('error', () => {})
  try {
    await redis.ping()
    await run(redis)
  } finally {
    redis.disconnect()
  }
}

/** Calls `run` in a budget that ends before the returned promise settles, and settles like that promise. */
async function late<T>(run: () => Promise<T>): Promise<T> {
  let over: Promise<T> | undefined
  await within(DEADLINE_MS, () => {
    over = run()
    return over
  }).catch(() => {})
  return over!
}

const clientsThatWait = async (): Promise<number> =>
  Number(/blocked_clients:(\d+)/.exec(await watcher.info('clients'))?.[1])

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await check()) return
    await sleep(25)
  }
  assert.fail(`not within 10 s: ${what}`)
}

for (const [arm, wrap] of ARMS) {
  test(`${arm}: DEL of a lock in a finally block still runs after the deadline`, { skip }, () =>
    withRedis(wrap, async redis => {
      await late(async () => {
        await redis.set('lock', 'mine', 'NX')
        try {
          await sleep(LONGER_MS)
        } finally {
          if ((await redis.get('lock')) === 'mine') await redis.del('lock')
        }
      })
      assert.equal(await watcher.exists('lock'), 0)
    }),
  )

  test(`${arm}: EXEC and DISCARD of an interactive MULTI still run after the deadline`, { skip }, () =>
    withRedis(wrap, async redis => {
      const exec = await late(async () => {
        await redis.multi({ pipeline: false })
        await redis.set('kept', '1')
        await sleep(LONGER_MS)
        return redis.exec()
      })
      assert.deepEqual(exec, [[null, 'OK']])
      await late(async () => {
        await redis.multi({ pipeline: false })
        await redis.set('dropped', '1')
        await sleep(LONGER_MS)
        return redis.discard()
      })
      assert.equal(await redis.get('kept'), '1')
      assert.equal(await redis.get('dropped'), null)
    }),
  )

  test(`${arm}: QUIT in a finally block closes a connection that is made only after the deadline`, {
    skip,
  }, async () => {
    server.child!.kill('SIGSTOP')
    const redis = wrap(new Redis({ port: server.port, host: '127.0.0.1' }))
    redis.on('error', () => {})
    const ready = once(redis, 'ready')
    try {
      await rejection(within(DEADLINE_MS, () => Promise.allSettled([redis.get('k'), redis.quit()])))
      server.child!.kill('SIGCONT')
      await ready
      await until('it is closed', async () => redis.status === 'end')
    } finally {
      server.child!.kill('SIGCONT')
      redis.disconnect()
    }
  })

  test(`${arm}: QUIT closes the connection even after the grace period`, { skip }, () =>
    withRedis(wrap, async redis => {
      await late(async () => {
        await sleep(LONGER_MS)
        await redis.ping()
        await sleep(2500) // stalls of a busy machine extend limits
        await redis.quit().catch(error => assert.ok(error instanceof DeadlineExceededError, String(error)))
      })
      await until('it is closed', async () => redis.status === 'end')
    }),
  )
}

for (const begin of ['multi', 'watch'] as const) {
  test(
    `a ${begin.toUpperCase()} that is never ended: the connection is closed after the grace period, with one warning`,
    { skip },
    () =>
      withRedis(bound, async redis => {
        warnings.length = 0
        const closed = once(redis, 'close')
        await late(async () => {
          await (begin === 'multi' ? redis.multi({ pipeline: false }) : redis.watch('k'))
          await sleep(LONGER_MS)
        })
        await closed
        await redis.set('k', 'v')
        assert.equal(await redis.get('k'), 'v', 'not QUEUED')
        assert.equal(warnings.length, 1)
        assert.match(warnings[0]!, /A Redis connection was closed, because its (MULTI|WATCH) had not ended 1000 ms/)
      }),
  )
}

test('an interactive MULTI with a late command is not executed in part', { skip }, () =>
  withRedis(bound, async redis => {
    await redis.multi({ pipeline: false })
    await redis.set('half', '1')
    server.child!.kill('SIGSTOP')
    const set = await rejection(within(DEADLINE_MS, () => redis.set('other half', '1')))
    const exec = rejection(redis.exec())
    server.child!.kill('SIGCONT')
    assert.ok(set instanceof DeadlineExceededError)
    const refused = await exec
    assert.ok(isMeltproofError(refused) && refused.code === 'MELTPROOF_TRANSACTION_BROKEN', String(refused))
    assert.equal(await redis.get('half'), null)
  }),
)

test('a pipeline with an EXEC for such a MULTI is refused as a whole', { skip }, () =>
  withRedis(bound, async redis => {
    await redis.multi({ pipeline: false })
    server.child!.kill('SIGSTOP')
    await rejection(within(DEADLINE_MS, () => redis.set('part', '1')))
    const piped = redis.pipeline().set('part', '2').call('EXEC').exec()
    server.child!.kill('SIGCONT')
    const errors = (await piped)!.map(([error]) => error)
    assert.equal(errors.length, 2)
    for (const error of errors) {
      assert.ok(isMeltproofError(error) && error.code === 'MELTPROOF_TRANSACTION_BROKEN', String(error))
    }
    assert.equal(await redis.echo('mine'), 'mine')
    assert.equal(await redis.get('part'), null)
  }),
)

for (const kind of ['pipeline', 'transaction'] as const) {
  test(`a ${kind} sent after the deadline is answered in order, even if a later command waits`, { skip }, () =>
    withRedis(bound, async redis => {
      let piped: Promise<unknown> | undefined
      await late(async () => {
        await sleep(LONGER_MS)
        const chain = kind === 'pipeline' ? redis.pipeline() : redis.multi()
        piped = chain.set('piped', '1').wait(1, 50).exec()
      })
      assert.equal(await redis.echo('mine'), 'mine')
      assert.deepEqual(await piped, [
        [null, 'OK'],
        [null, 0],
      ])
    }),
  )
}

test('a pipeline after the deadline ends a wait at the end of the grace period', { skip }, () =>
  withRedis(bound, async redis => {
    let piped: Promise<[error: Error | null, result: unknown][] | null> | undefined
    await late(async () => {
      await sleep(LONGER_MS)
      piped = redis.pipeline().echo('first').blpop('empty', 0).exec()
    })
    const [first, wait] = (await piped!)!
    assert.deepEqual(first, [null, 'first'])
    assert.ok(wait![0] instanceof Error)
    assert.equal(await redis.echo('mine'), 'mine')
    assert.equal(await clientsThatWait(), 0)
  }),
)

test('a pipeline that begins with INFO while the client connects is answered in order', { skip }, async () => {
  server.child!.kill('SIGSTOP')
  const redis = bound(new Redis({ port: server.port, host: '127.0.0.1' }))
  redis.on('error', () => {})
  try {
    await once(redis, 'connect')
    let piped: Promise<[error: Error | null, result: unknown][] | null> | undefined
    await late(async () => {
      await sleep(LONGER_MS)
      piped = redis.pipeline().info().wait(1, 50).exec()
    })
    server.child!.kill('SIGCONT')
    assert.equal(await redis.echo('mine'), 'mine')
    assert.deepEqual((await piped!)![1], [null, 0])
  } finally {
    server.child!.kill('SIGCONT')
    redis.disconnect()
  }
})

test('a BLPOP past its deadline takes no job, which is kept for the next', { skip }, () =>
  withRedis(bound, async redis => {
    for (let i = 0; i < 5; i++) {
      const settled = Promise.withResolvers<unknown>()
      const pop = within(DEADLINE_MS, async () => {
        const job = redis.blpop('jobs', 0)
        job.then(settled.resolve, settled.resolve)
        return job
      })
      assert.ok((await rejection(pop)) instanceof DeadlineExceededError)
      assert.ok((await settled.promise) instanceof DeadlineExceededError)
      assert.equal(await clientsThatWait(), 0)
      await watcher.rpush('jobs', `job ${i}`)
      assert.deepEqual(await redis.lrange('jobs', 0, -1), [`job ${i}`])
      assert.deepEqual(await redis.blpop('jobs', 1), ['jobs', `job ${i}`])
    }
  }),
)

test('a job that Redis had sent when the client left is delivered', { skip }, () =>
  withRedis(bound, async redis => {
    const controller = new AbortController()
    let pop: Promise<unknown> | undefined
    const left = within(
      60_000,
      () => {
        pop = redis.blpop('jobs', 0)
        return pop
      },
      { signal: controller.signal },
    )
    await until('it waits', async () => (await clientsThatWait()) === 1)
    // The answer is unread in the socket when the client leaves.
    const { stream } = redis as unknown as { stream: { pause(): void; resume(): void } }
    stream.pause()
    await watcher.rpush('jobs', 'given')
    controller.abort(new Error('the client has left'))
    await rejection(left)
    stream.resume()
    assert.deepEqual(await pop, ['jobs', 'given'])
    assert.equal(await watcher.llen('jobs'), 0)
  }),
)

test('a job that arrives as the client leaves is delivered or kept', { skip }, () =>
  withRedis(bound, async redis => {
    for (let i = 0; i < 20; i++) {
      const controller = new AbortController()
      const popping = Promise.withResolvers<unknown>()
      const left = within(60_000, () => redis.blpop('jobs', 0).then(popping.resolve, popping.reject), {
        signal: controller.signal,
      })
      await until('it waits', async () => (await clientsThatWait()) === 1)
      // The server sees the job and the end of the wait in one turn.
      server.child!.kill('SIGSTOP')
      const pushed = watcher.rpush('jobs', `job ${i}`)
      controller.abort(new Error('the client has left'))
      await rejection(left)
      server.child!.kill('SIGCONT')
      await pushed
      const popped = await popping.promise.catch(() => null)
      const kept = await watcher.lpop('jobs')
      assert.equal(popped === null ? kept : (popped as string[])[1], `job ${i}`)
    }
  }),
)

test('a late BLPOP keeps its connection', { skip }, () =>
  withRedis(bound, async redis => {
    const id = await redis.client('ID')
    assert.ok((await rejection(within(DEADLINE_MS, () => redis.blpop('empty', 0)))) instanceof DeadlineExceededError)
    assert.equal(await redis.client('ID'), id)
  }),
)

test('a late BLPOP of a client without an offline queue keeps its connection', { skip }, () =>
  withRedis(bound, async redis => {
    const hurried = bound(redis.duplicate({ enableOfflineQueue: false }))
    hurried.on('error', () => {})
    try {
      await once(hurried, 'ready')
      const id = await hurried.client('ID')
      const late = await rejection(within(DEADLINE_MS, () => hurried.blpop('empty', 0)))
      assert.ok(late instanceof DeadlineExceededError)
      await until('it waits no more', async () => (await clientsThatWait()) === 0)
      assert.equal(await hurried.client('ID'), id)
    } finally {
      hurried.disconnect()
    }
  }),
)

test('a BLPOP that is resent to a restarted server is ended there, and no other client is unblocked', {
  skip,
  timeout: 60_000,
}, async () => {
  const own = await startRedis()
  const clients: Redis[] = []
  const connected = async (options = {}): Promise<{ client: Redis; id: number }> => {
    const client = new Redis({ port: own.port, host: '127.0.0.1', ...options })
    client.on('error', () => {})
    clients.push(client)
    return { client, id: Number(await client.client('ID')) }
  }
  const waitingOf = async (client: Redis): Promise<number> =>
    Number(/blocked_clients:(\d+)/.exec(await client.info('clients'))?.[1])
  try {
    // After the restart, the ids begin at 1 again.
    for (let i = 0; i < 30; i++) (await connected()).client.disconnect()
    const { client, id: oldId } = await connected()
    bound(client)
    const restarter = (await connected({ retryStrategy: () => null })).client
    const controller = new AbortController()
    const left = within(60_000, () => client.blpop('jobs', 0), { signal: controller.signal })
    await until('it waits', async () => (await waitingOf(restarter)) === 1)
    const reconnected = once(client, 'ready')
    await restarter.call('DEBUG', 'RESTART').catch(() => {})
    await reconnected
    const observer = (await connected()).client
    await until('it waits again', async () => (await waitingOf(observer)) === 1)
    let other = await connected()
    while (other.id < oldId) other = await connected()
    assert.equal(other.id, oldId)
    const pop = other.client.blpop('others', 0)
    // Reported when it is awaited.
    pop.catch(() => {})
    await until('both wait', async () => (await waitingOf(observer)) === 2)
    controller.abort(new Error('the client has left'))
    assert.equal(((await rejection(left)) as Error).message, 'the client has left')
    const id = Number(await client.client('ID'))
    assert.ok(id < oldId, 'it is still connected')
    await observer.rpush('others', 'job')
    assert.deepEqual(await pop, ['others', 'job'])
  } finally {
    for (const client of clients) client.disconnect()
    await own.stop()
  }
})

test('without permission for CLIENT UNBLOCK, the connection of a late BLPOP is closed', { skip }, () =>
  withRedis(bound, async redis => {
    await watcher.call('ACL', 'SETUSER', 'limited', 'on', 'nopass', '~*', '&*', '+@all', '-client|unblock')
    const limited = bound(redis.duplicate({ username: 'limited', password: 'any' }))
    try {
      const id = await limited.client('ID')
      const late = await rejection(within(DEADLINE_MS, () => limited.blpop('empty', 0)))
      assert.ok(late instanceof DeadlineExceededError)
      assert.notEqual(await limited.client('ID'), id)
      assert.equal(await clientsThatWait(), 0)
    } finally {
      limited.disconnect()
    }
  }),
)

test('a cluster: a BLPOP under way when its deadline passes still gets its job, and one sent later is refused', {
  skip,
}, async () => {
  // The default port of the cluster bus is the port plus 10,000, which may not exist.
  const busPort = String(await freePort())
  const flags = ['--cluster-enabled', 'yes', '--cluster-port', busPort, '--cluster-announce-ip', '127.0.0.1']
  const own = await startRedis(...flags)
  const node = new Redis({ port: own.port, host: '127.0.0.1' })
  const cluster = bound(new Cluster([{ port: own.port, host: '127.0.0.1' }], { lazyConnect: true }))
  cluster.on('error', () => {})
  try {
    await node.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    await until('it has its slots', async () => String(await node.call('CLUSTER', 'INFO')).includes('state:ok'))
    await cluster.set('k', 'v')
    const settled = Promise.withResolvers<unknown>()
    const pop = within(DEADLINE_MS, () => {
      const job = cluster.blpop('jobs', 0)
      job.then(settled.resolve, settled.resolve)
      return job
    })
    assert.ok((await rejection(pop)) instanceof DeadlineExceededError)
    await node.rpush('jobs', 'given')
    assert.deepEqual(await settled.promise, ['jobs', 'given'])
    const refused = await late(async () => {
      await sleep(LONGER_MS)
      return rejection(cluster.blpop('jobs', 0))
    })
    assert.ok(refused instanceof DeadlineExceededError, String(refused))
    assert.doesNotMatch(await node.info('commandstats'), /client\|id/, 'nothing is unblocked')
  } finally {
    cluster.disconnect()
    node.disconnect()
    await own.stop()
  }
})

test('other commands on the connection of a late BLPOP are run once', { skip }, () =>
  withRedis(bound, async redis => {
    await watcher.del('n')
    const pop = rejection(within(DEADLINE_MS, () => redis.blpop('empty', 0)))
    const others = Promise.all(Array.from({ length: 5 }, () => redis.incr('n')))
    assert.ok((await pop) instanceof DeadlineExceededError)
    assert.deepEqual(await others, [1, 2, 3, 4, 5])
  }),
)

test('a SUBSCRIBE that was not answered in time does not subscribe the connection later', { skip }, () =>
  withRedis(bound, async redis => {
    server.child!.kill('SIGSTOP')
    const subscribing = rejection(within(DEADLINE_MS, () => redis.subscribe('news')))
    await subscribing
    server.child!.kill('SIGCONT')
    assert.equal(await redis.echo('free'), 'free')
    assert.deepEqual(await watcher.pubsub('NUMSUB', 'news'), ['news', 0])
  }),
)

test('a command given up while there was no connection is not sent later', { skip }, () =>
  withRedis(bound, async redis => {
    await watcher.del('given up')
    // Otherwise a busy machine reconnects before the deadline.
    redis.options.retryStrategy = () => 200
    redis.disconnect(true)
    await once(redis, 'close')
    const set = rejection(within(5, () => redis.set('given up', '1')))
    assert.ok((await set) instanceof DeadlineExceededError)
    await redis.ping()
    assert.equal(await redis.get('given up'), null)
  }),
)

test('a pipeline whose time was up before it was sent is not sent', { skip }, () =>
  withRedis(bound, async redis => {
    await watcher.del('piped')
    const outcome = Promise.withResolvers<unknown>()
    const over = within(1, async () => {
      await sleep(50)
      await redis.ping() // starts the grace period
      await sleep(2500)
      outcome.resolve(
        await redis
          .multi()
          .set('piped', '1')
          .exec()
          .catch((error: unknown) => error),
      )
      await redis.pipeline().set('piped', '2').exec()
    })
    await rejection(over)
    assert.ok(isMeltproofError(await outcome.promise), String(await outcome.promise))
    assert.equal(await redis.echo('mine'), 'mine')
    assert.equal(await watcher.exists('piped'), 0)
  }),
)
