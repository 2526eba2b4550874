/** meltproof/pg against a real PostgreSQL. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { bound } from '../../src/databases/pg.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { namedPools } from '../../src/named-figures.ts'
import { block } from '../block.ts'
import { rejection } from '../rejection.ts'
import { type Running, startPostgres } from './real-servers.ts'

let server: Running
/** A client without limits, to observe the database. */
let watcher: pg.Client
const config = (): pg.PoolConfig => ({
  host: '127.0.0.1',
  port: server.port,
  user: 'postgres',
  password: 'secret',
  database: 'postgres',
})

before(async () => {
  server = await startPostgres()
  watcher = new pg.Client({ ...config(), application_name: 'watcher' })
  await watcher.connect()
})
after(async () => {
  await watcher?.end()
  await server?.stop()
})

/** How many backends of the tests currently run a statement. */
async function running(): Promise<number> {
  const { rows } = await watcher.query(
    "select count(*)::int as n from pg_stat_activity where state = 'active' and application_name <> 'watcher' and backend_type = 'client backend'",
  )
  return rows[0].n
}

async function until(what: string, check: () => Promise<boolean> | boolean): Promise<void> {
  for (let i = 0; i < 200; i++) {
    if (await check()) return
    await sleep(25)
  }
  assert.fail(`not within 5 s: ${what}`)
}

async function withPool(options: pg.PoolConfig, run: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const pool = new pg.Pool({ ...config(), ...options })
  // The server may stop before its connections are closed.
  pool.on('error', () => {})
  try {
    await run(pool)
  } finally {
    await pool.end()
  }
}

test('quick queries work as without bound(): results, errors, parameters, callbacks, named statements', () =>
  withPool({ max: 2 }, async pool => {
    assert.equal(bound(pool), pool)
    bound(pool)
    assert.deepEqual((await pool.query('select $1::int as n', [5])).rows, [{ n: 5 }])
    const named = { name: 'same', text: 'select 7 as n' }
    for (let i = 0; i < 3; i++) assert.equal((await pool.query(named)).rows[0].n, 7)
    assert.deepEqual(Object.keys(named), ['name', 'text'])
    assert.equal(((await rejection(pool.query('select nonsense'))) as { code: string }).code, '42703')
    const viaCallback = await new Promise((resolve, reject) => {
      void pool.query('select 3 as n', (error, result) => (error ? reject(error) : resolve(result.rows[0].n)))
    })
    assert.equal(viaCallback, 3)
    const client = await pool.connect()
    const order = await Promise.all([1, 2, 3].map(n => client.query('select $1::int as n', [n])))
    assert.deepEqual(
      order.map(({ rows }) => rows[0].n),
      [1, 2, 3],
    )
    client.release()
    assert.equal(pool.idleCount, pool.totalCount)
    assert.equal(pendingFairTimers(), 0)
  }))

test('a query past its deadline rejects in time, and is cancelled at the server', () =>
  withPool({ max: 2 }, async pool => {
    bound(pool, { queryMs: 800 })
    await pool.query('select 1')
    const startMs = performance.now()
    const error = await rejection(pool.query('select pg_sleep(30)'))
    assert.ok(error instanceof DeadlineExceededError)
    assert.equal(error.phase, 'query')
    assert.ok(performance.now() - startMs < 5000)
    assert.match(error.message, /a PostgreSQL query took more than 800 ms/)
    await until('the server stopped working on it', async () => (await running()) === 0)
    await until('the connection is back', () => pool.idleCount === 1)
    assert.equal((await pool.query('select 1 as n')).rows[0].n, 1)
    assert.equal(pendingFairTimers(), 0)
  }))

test('without queryMs, a query is limited by its budget', () =>
  withPool({ max: 1 }, async pool => {
    bound(pool, { queryMs: false, acquireMs: false })
    assert.equal((await pool.query('select 1 as n')).rows[0].n, 1)
    assert.equal(pendingFairTimers(), 0)
    assert.ok((await rejection(within(100, () => pool.query('select pg_sleep(30)')))) instanceof DeadlineExceededError)
  }))

test('a query is cancelled when its budget ends or is aborted', () =>
  withPool({ max: 2 }, async pool => {
    bound(pool)
    const error = await rejection(within(120, () => pool.query('select pg_sleep(30)')))
    assert.ok(error instanceof DeadlineExceededError)
    await until('cancelled', async () => (await running()) === 0)
    const controller = new AbortController()
    const left = rejection(within(60_000, () => pool.query('select pg_sleep(30)'), { signal: controller.signal }))
    await until('it runs', async () => (await running()) === 1)
    controller.abort(new Error('the client has left'))
    assert.equal(((await left) as Error).message, 'the client has left')
    await until('cancelled', async () => (await running()) === 0)
  }))

test('acquireMs limits the wait for a connection, and a caller that gave up takes none', () =>
  withPool({ max: 1 }, async pool => {
    bound(pool, { acquireMs: 80 })
    const held = await pool.connect()
    const errors = await Promise.all([rejection(pool.query('select 1')), rejection(pool.connect())])
    for (const error of errors) {
      assert.ok(error instanceof DeadlineExceededError)
      assert.equal(error.phase, 'acquire')
    }
    const callback = await new Promise(resolve => pool.connect(error => resolve(error)))
    assert.ok(callback instanceof DeadlineExceededError)
    held.release()
    assert.equal((await pool.query('select 1 as n')).rows[0].n, 1)
    assert.equal(pool.idleCount, 1)
    assert.equal(pool.waitingCount, 0)
  }))

test('the stack of an error of pool.connect() names its caller, as without bound()', () =>
  withPool({ max: 1 }, async pool => {
    bound(pool, { acquireMs: 80 })
    const held = await pool.connect()
    async function ofTheApp(): Promise<void> {
      await pool.connect()
    }
    const error = (await rejection(ofTheApp())) as Error
    assert.ok(error instanceof DeadlineExceededError)
    assert.match(error.stack ?? '', /ofTheApp/)
    held.release()
  }))

test('namedPools() reports connections in use and callers that wait', () =>
  withPool({ max: 2, database: 'template1' }, async pool => {
    bound(pool)
    const named = `127.0.0.1:${server.port}/template1`
    const figures = (): unknown => namedPools().find(({ name }) => name === named)
    const held = await Promise.all([pool.connect(), pool.connect()])
    const late = pool.connect()
    assert.deepEqual(figures(), { name: named, used: 2, waiting: 1, most: 2 })
    for (const client of held) client.release()
    ;(await late).release()
    assert.deepEqual(figures(), { name: named, used: 0, waiting: 0, most: 2 })
  }))

test('a query that waits for a connection runs in its own async context', () =>
  withPool({ max: 1 }, async pool => {
    bound(pool)
    const store = new AsyncLocalStorage<string>()
    const held = await pool.connect()
    const seen = store.run(
      'mine',
      () => new Promise(resolve => pool.query('select 1', () => resolve(store.getStore()))),
    )
    // Released inside a budget that ends at once. The query that gets the connection must not inherit it.
    await within(1000, async () => held.release())
    assert.equal(await seen, 'mine')
  }))

test('a configured statement_timeout is kept', () =>
  withPool({ max: 1, statement_timeout: 2000 }, async pool => {
    bound(pool)
    assert.equal((await pool.query('show statement_timeout')).rows[0].statement_timeout, '2s')
  }))

test('a lone client: a late query in the queue is not sent, and the client stays usable', async () => {
  const client = bound(new pg.Client(config()), { queryMs: 5000 })
  await client.connect()
  const slow = client.query('select pg_sleep(0.3)')
  const impatient = rejection(within(50, () => client.query('select 2')))
  const patient = client.query('select 3 as n')
  assert.ok((await impatient) instanceof DeadlineExceededError)
  assert.equal((await patient).rows[0].n, 3, 'one that gave up in line must not cost the others their connection')
  await slow
  assert.ok((await rejection(within(60, () => client.query('select pg_sleep(30)')))) instanceof DeadlineExceededError)
  assert.equal((await client.query('select 4 as n')).rows[0].n, 4, 'it goes on')
  assert.equal(await running(), 0)
  await client.end()
})

test('an answer in the socket beats a deadline that passed while the loop stalled, in 20 of 20 runs', () =>
  withPool({ max: 1 }, async pool => {
    bound(pool)
    await pool.query('select 1')
    for (let i = 0; i < 20; i++) {
      const query = within(100, () => pool.query('select pg_sleep(0.02)'))
      setTimeout(() => block(150), 5)
      assert.equal((await query).rowCount, 1)
    }
  }))

test('twenty late queries all reject and are cancelled, and the pool stays usable', () =>
  withPool({ max: 20 }, async pool => {
    bound(pool)
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => rejection(within(400, () => pool.query('select pg_sleep(30)')))),
    )
    assert.ok(outcomes.every(error => error instanceof DeadlineExceededError))
    await until('all are cancelled', async () => (await running()) === 0)
    assert.equal((await pool.query('select 1 as n')).rows[0].n, 1)
  }))

test('acquireMs ends a connect() that the server never answers', async () => {
  const { createServer } = await import('node:net')
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await new Promise(resolve => silent.once('listening', resolve))
  const { port } = silent.address() as { port: number }
  const client = bound(new pg.Client({ ...config(), port }), { acquireMs: 80 })
  client.on('error', () => {})
  const error = await rejection(client.connect())
  assert.ok(error instanceof DeadlineExceededError && error.phase === 'connect')
  silent.close()
})

test('bound() rejects anything but a known client, and says what it expects', () => {
  for (const other of [{}, { query() {} }, [], new Map()]) {
    assert.throws(() => bound(other), /needs a Pool or Client of the package pg \(version 8, not pg-native\); got/)
  }
  assert.throws(() => bound(new pg.Client(), { queryMs: 0 }), /queryMs must be a number of milliseconds from 1/)
  assert.throws(() => bound(new pg.Client(), { timeout: 5 } as object), /does not know 'timeout'/)
})
