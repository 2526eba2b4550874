/** What happens to a PostgreSQL connection with a late query: meltproof/pg, a real server and bad proxies. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { bound } from '../../src/databases/pg.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { rejection } from '../rejection.ts'
import { CERTIFICATE } from '../server/tls.fixture.ts'
import { type CancelProxy, cancelProxy } from './cancel-proxy.ts'
import { type Running, startPostgres } from './real-servers.ts'

let server: Running
const config = (port = server.port): pg.PoolConfig => ({
  host: '127.0.0.1',
  port,
  user: 'postgres',
  password: 'secret',
  database: 'postgres',
})

before(async () => {
  server = await startPostgres()
})
after(async () => {
  await server?.stop()
})

async function until(what: string, check: () => boolean, withinMs = 5000): Promise<number> {
  const startMs = performance.now()
  while (!check()) {
    if (performance.now() - startMs > withinMs) assert.fail(`not within ${withinMs} ms: ${what}`)
    await sleep(10)
  }
  return performance.now() - startMs
}

async function withPool(options: pg.PoolConfig, run: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const pool = bound(new pg.Pool({ ...config(), ...options }))
  pool.on('error', () => {})
  try {
    await run(pool)
  } finally {
    await pool.end()
  }
}

async function withProxy(
  options: pg.PoolConfig,
  run: (pool: pg.Pool, proxy: CancelProxy) => Promise<void>,
): Promise<void> {
  const proxy = await cancelProxy(server.port)
  const pool = bound(new pg.Pool({ ...config(proxy.port), ...options }))
  pool.on('error', () => {})
  try {
    await run(pool, proxy)
  } finally {
    const ended = pool.end()
    await proxy.stop()
    await ended
  }
}

const pidOf = async (on: pg.Pool | pg.PoolClient): Promise<number> =>
  (await on.query('select pg_backend_pid() as pid')).rows[0].pid

async function isLate(call: Promise<unknown>): Promise<void> {
  const error = await rejection(call)
  assert.ok(error instanceof DeadlineExceededError, String(error))
}

test('the connection of a late query is used again once the server is done with it', () =>
  withPool({ max: 1 }, async pool => {
    let pid = await pidOf(pool)
    for (let i = 0; i < 5; i++) {
      await isLate(within(60, () => pool.query('select pg_sleep(30)')))
      assert.equal(pool.idleCount, 0)
      const lateAtMs = performance.now()
      const next = await pidOf(pool)
      // On a busy machine the server may need longer, and the pool does not wait for it.
      if (performance.now() - lateAtMs < 2000) assert.equal(next, pid)
      pid = next
    }
    assert.equal(pool.totalCount, 1)
    await until('all timers are gone', () => pendingFairTimers() === 0)
  }))

test('a late query that ends by itself frees its connection, too', () =>
  withProxy({ max: 1 }, async (pool, proxy) => {
    proxy.treatment = 'swallow'
    const pid = await pidOf(pool)
    const startMs = performance.now()
    await isLate(within(60, () => pool.query('select pg_sleep(0.5)')))
    assert.equal(await pidOf(pool), pid)
    assert.ok(performance.now() - startMs >= 490)
    assert.equal(proxy.connections, 1)
  }))

test('a cancel that arrives after its query has ended does not hit the next one', () =>
  withProxy({ max: 1 }, async (pool, proxy) => {
    proxy.treatment = 700
    const pid = await pidOf(pool)
    await isLate(within(50, () => pool.query('select pg_sleep(0.4)')))
    // The pool sends this query only after the cancel has arrived without effect.
    const { rows } = await pool.query('select pg_sleep(0.6), pg_backend_pid() as pid')
    assert.equal(rows[0].pid, pid)
    assert.equal(proxy.cancels, 1)
  }))

test('a cancel that arrives about when its query ends never hits the next one', () =>
  withProxy({ max: 1 }, async (pool, proxy) => {
    const pid = await pidOf(pool)
    // Stalls of a busy machine extend the queries, so fewer are cancelled.
    for (let i = 0; i < 60 || (i < 600 && proxy.cancels <= 10); i++) {
      proxy.treatment = i % 7
      await within(20, () => pool.query(`select pg_sleep(${0.015 + (i % 13) / 1000})`)).catch(() => {})
      const { rows } = await pool.query('select pg_sleep(0.005), pg_backend_pid() as pid')
      assert.equal(rows[0].pid, pid)
    }
    assert.ok(proxy.cancels > 10)
    assert.equal(proxy.connections, 1)
  }))

test('a client continues its transaction after a late query, and is not pooled again', () =>
  withPool({ max: 1 }, async pool => {
    const client = await pool.connect()
    const pid = await pidOf(client)
    await client.query('begin')
    await client.query('create temporary table kept (n int)')
    await isLate(within(60, () => client.query('select pg_sleep(30)')))
    await client.query('rollback')
    assert.equal((await client.query("select to_regclass('kept') as kept")).rows[0].kept, null)
    assert.equal(await pidOf(client), pid)
    client.release()
    assert.notEqual(await pidOf(pool), pid, 'no other request gets it')
  }))

test('a savepoint survives a late query', () =>
  withPool({ max: 1 }, async pool => {
    const client = await pool.connect()
    await client.query('begin')
    await client.query('savepoint before')
    await isLate(within(60, () => client.query('select pg_sleep(30)')))
    await client.query('rollback to savepoint before')
    assert.equal((await client.query('select 1 as n')).rows[0].n, 1)
    await client.query('commit')
    client.release()
  }))

test('an app without time left for a ROLLBACK leaves no transaction open', () =>
  withPool({ max: 1 }, async pool => {
    for (const statement of ['select pg_sleep(30)', 'select 1']) {
      const pid = await pidOf(pool)
      const transaction = within(80, async () => {
        const client = await pool.connect()
        try {
          await client.query('begin')
          await client.query(statement)
          // More than twice the limit, because stalls of a busy machine extend limits.
          await sleep(400)
          await client.query('select 2')
        } finally {
          await client.query('rollback').catch(() => {})
          client.release()
        }
      })
      await isLate(transaction)
      // now() is the start of the transaction, so in one left open these two would be equal.
      const times = [await pool.query('select now()::text as t'), await pool.query('select now()::text as t')]
      assert.notEqual(times[0]!.rows[0].t, times[1]!.rows[0].t)
      assert.equal((await pidOf(pool)) === pid, statement === 'select 1', 'closed when something was cancelled')
    }
  }))

test('a client released with an error is not used again, and a second release() throws', () =>
  withPool({ max: 1 }, async pool => {
    const client = await pool.connect()
    const pid = await pidOf(client)
    await isLate(within(60, () => client.query('select pg_sleep(30)')))
    client.release(new Error('of no use to me'))
    assert.throws(() => client.release(), /already been released/)
    assert.notEqual(await pidOf(pool), pid)
    const other = await pool.connect()
    const late = await rejection(within(60, () => other.query('select pg_sleep(30)')))
    other.release(late as Error)
    assert.throws(() => other.release(), /already been released/)
    assert.equal(pool.totalCount, 1)
  }))

test('queries whose time was up before they were sent cause no cancel', () =>
  withProxy({ max: 1 }, async (pool, proxy) => {
    const client = await pool.connect()
    const pid = await pidOf(client)
    const long = client.query('select pg_sleep(0.3)')
    await Promise.all(Array.from({ length: 10 }, () => isLate(within(50, () => client.query('select 1')))))
    await long
    assert.equal(await pidOf(client), pid)
    client.release()
    assert.notEqual(await pidOf(pool), pid, 'one of them may have been a cleanup')
    assert.equal(proxy.cancels, 0)
    assert.equal(proxy.connections, 2)
  }))

test('if cancels are lost, only a quarter of the pool is replaced at a time', () =>
  withProxy({ max: 4 }, async (pool, proxy) => {
    proxy.treatment = 'swallow'
    const startMs = performance.now()
    await Promise.all(Array.from({ length: 4 }, () => isLate(within(200, () => pool.query('select pg_sleep(30)')))))
    assert.equal(proxy.connections, 4)
    const first = await pool.connect()
    assert.ok(performance.now() - startMs >= 2000, 'not before the server had its time')
    const second = await pool.connect()
    assert.ok(performance.now() - startMs >= 7000, 'not while the first may still be replaced')
    assert.equal(proxy.connections, 6)
    first.release()
    second.release()
  }))

test('connections that wait to be replaced are used again when their query ends', () =>
  withProxy({ max: 4 }, async (pool, proxy) => {
    proxy.treatment = 'swallow'
    await Promise.all(Array.from({ length: 4 }, () => isLate(within(200, () => pool.query('select pg_sleep(3)')))))
    const answers = await Promise.all(Array.from({ length: 4 }, () => pool.query('select 1 as n')))
    assert.equal(answers.length, 4)
    await until('all of them are back', () => pool.idleCount === 4)
    assert.equal(proxy.connections, 5)
  }))

test('a connection is not used again while a cancel may still arrive', () =>
  withProxy({ max: 1 }, async (pool, proxy) => {
    proxy.treatment = 'silent'
    const pid = await pidOf(pool)
    await isLate(within(50, () => pool.query('select pg_sleep(0.2)')))
    assert.notEqual(await pidOf(pool), pid)
    assert.equal(proxy.connections, 2)
  }))

test('twenty late queries are cancelled eight at a time, and all connections are kept', () =>
  withProxy({ max: 20 }, async (pool, proxy) => {
    proxy.treatment = 20
    await Promise.all(Array.from({ length: 20 }, () => pool.query('select pg_sleep(0.1)')))
    const connections = proxy.connections
    await Promise.all(Array.from({ length: 20 }, () => isLate(within(100, () => pool.query('select pg_sleep(30)')))))
    await until('all of them are back', () => pool.idleCount === pool.totalCount)
    assert.equal(pool.totalCount, connections)
    assert.equal(proxy.connections, connections)
    assert.equal(proxy.cancels, 20)
    assert.ok(proxy.mostCancelling <= 8, `${proxy.mostCancelling} at once`)
  }))

test('a connection that breaks while its late query is pending leaves the pool, without harm to another', () =>
  withPool({ max: 1 }, async pool => {
    const proxy = await cancelProxy(server.port)
    const behind = bound(new pg.Pool({ ...config(proxy.port), max: 1 }))
    behind.on('error', () => {})
    proxy.treatment = 'swallow'
    await isLate(within(100, () => behind.query('select pg_sleep(30)')))
    await proxy.stop()
    await until('it left the pool', () => behind.totalCount === 0)
    await behind.end()
    assert.equal((await pool.query('select 1 as n')).rows[0].n, 1)
  }))

test('a lone client waits for a late query, and is discarded if the server does not answer in time', async () => {
  const proxy = await cancelProxy(server.port)
  const client = bound(new pg.Client(config(proxy.port)))
  client.on('error', () => {})
  await client.connect()
  await isLate(within(60, () => client.query('select pg_sleep(30)')))
  assert.equal((await client.query('select 1 as n')).rows[0].n, 1)
  proxy.treatment = 'swallow'
  await isLate(within(60, () => client.query('select pg_sleep(30)')))
  const refused = await rejection(client.query('select 1'))
  assert.ok(isMeltproofError(refused) && refused.code === 'MELTPROOF_CLIENT_DISCARDED', String(refused))
  await proxy.stop()
})

test('over TLS, a cancel is encrypted, and ends the query', async () => {
  const secure = await startPostgres(CERTIFICATE)
  const proxy = await cancelProxy(secure.port)
  const pool = bound(new pg.Pool({ ...config(proxy.port), max: 1, ssl: { rejectUnauthorized: false } }))
  pool.on('error', () => {})
  const pid = await pidOf(pool)
  const startMs = performance.now()
  await isLate(within(60, () => pool.query('select pg_sleep(30)')))
  assert.equal(await pidOf(pool), pid)
  assert.ok(performance.now() - startMs < 1500, 'the server was told at once')
  assert.equal(proxy.cancels, 0, 'it cannot be read on the way')
  await pool.end()
  await proxy.stop()
  await secure.stop()
})

test('a cursor or stream waits for the cancel, and has no deadline', async () => {
  const pool = bound(new pg.Pool({ ...config(), max: 1 }), { queryMs: 300 })
  const client = await pool.connect()
  await isLate(within(60, () => client.query('select pg_sleep(30)')))
  const own = new pg.Query('select pg_sleep(0.4), 1 as n')
  const rows: { n: number }[] = []
  const ended = new Promise((resolve, reject) => {
    own.on('row', row => rows.push(row))
    own.on('end', resolve)
    own.on('error', reject)
  })
  assert.equal(client.query(own), own)
  await sleep(250) // both together take longer than the query limit
  const next = within(5000, () => client.query('select 2 as n'))
  await ended
  assert.deepEqual(
    rows.map(({ n }) => n),
    [1],
  )
  assert.equal((await next).rows[0].n, 2)
  client.release()
  await pool.end()
})

test('at four times its capacity, a pool answers at least half of what it can in time', () =>
  withPool({ max: 5 }, async pool => {
    let connections = 0
    pool.on('connect', () => connections++)
    let good = 0
    const calls: Promise<unknown>[] = []
    for (let i = 0; i < 200; i++) {
      await sleep(5)
      const call = within(150, () => pool.query('select pg_sleep(0.1)'))
      calls.push(
        call.then(
          () => good++,
          () => {},
        ),
      )
    }
    await Promise.all(calls)
    // The pool can answer fifty a second. First come, first served would answer only the first ten in time.
    assert.ok(good >= 25, `${good} in time`)
    assert.equal(connections, 5)
  }))

test("a query after the grace period is refused, whatever value the reason of the app's signal is", async () => {
  const client = bound(new pg.Client(config()))
  await client.connect()
  const controller = new AbortController()
  let refused: Promise<unknown> | undefined
  const work = within(
    60_000,
    async () => {
      await sleep(20)
      controller.abort('left')
      await client.query('select 1')
      await sleep(1200)
      refused = client.query('select 2')
      await refused
    },
    { signal: controller.signal },
  )
  assert.equal(((await rejection(work)) as Error).cause, 'left')
  try {
    await until('the second query is called', () => refused !== undefined)
    assert.equal(((await rejection(refused!)) as Error).cause, 'left')
    assert.equal((await client.query('select 3 as n')).rows[0].n, 3)
  } finally {
    await client.end()
  }
})
