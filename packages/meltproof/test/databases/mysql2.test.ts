/** meltproof/mysql2 against a real MariaDB. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2'
import mysqlPromise from 'mysql2/promise'
import { bound } from '../../src/databases/mysql2.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { block } from '../block.ts'
import { rejection } from '../rejection.ts'
import { skipWithout } from '../installed.ts'
import { type Running, startMariadb } from './real-servers.ts'

const skip = skipWithout('mariadbd', 'mariadb-server')
let server: Running
let watcher: mysqlPromise.Connection
const config = (): mysql.ConnectionOptions => ({ host: '127.0.0.1', port: server.port, user: 'root' })

before(async () => {
  if (skip !== false) return
  server = await startMariadb()
  watcher = await mysqlPromise.createConnection(config())
})
after(async () => {
  await watcher?.end()
  await server?.stop()
})

async function running(): Promise<number> {
  const [rows] = await watcher.query(
    "select count(*) as n from information_schema.processlist where info like '%sleep(%' and id <> connection_id()",
  )
  return (rows as { n: number }[])[0]!.n
}

async function until(what: string, check: () => Promise<boolean> | boolean): Promise<void> {
  for (let i = 0; i < 200; i++) {
    if (await check()) return
    await sleep(25)
  }
  assert.fail(`not within 5 s: ${what}`)
}

async function withPool(options: mysql.PoolOptions, run: (pool: mysqlPromise.Pool) => Promise<void>): Promise<void> {
  const pool = mysqlPromise.createPool({ ...config(), ...options })
  try {
    await run(pool)
  } finally {
    await pool.end()
  }
}

const one = async (pool: { query(sql: string): Promise<[unknown, unknown]> }): Promise<unknown> =>
  (await pool.query('select 1 as n'))[0]

test('quick queries work as without bound(): results, errors, parameters, prepared statements, streams', { skip }, () =>
  withPool({ connectionLimit: 2 }, async pool => {
    assert.equal(bound(pool), pool)
    bound(pool)
    assert.deepEqual(await one(pool), [{ n: 1 }])
    assert.deepEqual((await pool.query('select ? as n', [5]))[0], [{ n: 5 }])
    for (let i = 0; i < 3; i++) assert.deepEqual((await pool.execute('select ? as n', [i]))[0], [{ n: i }])
    assert.equal(((await rejection(pool.query('select nonsense'))) as { code: string }).code, 'ER_BAD_FIELD_ERROR')
    const connection = await pool.getConnection()
    const all = await Promise.all([1, 2, 3].map(n => connection.query('select ? as n', [n])))
    assert.deepEqual(
      all.map(([rows]) => rows),
      [[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]],
    )
    connection.release()
    const rows: unknown[] = []
    for await (const row of pool.pool.query('select 1 as n union select 2').stream()) rows.push(row)
    assert.equal(rows.length, 2)
    assert.equal(pendingFairTimers(), 0)
  }),
)

test(
  'a query past its deadline rejects in time, is killed at the server, and its connection is used again',
  { skip },
  () =>
    withPool({ connectionLimit: 1 }, async pool => {
      bound(pool)
      const [[before]] = (await pool.query('select connection_id() as id')) as unknown as [[{ id: number }]]
      for (const start of [() => pool.query('select sleep(30)'), () => pool.execute('select sleep(?)', [30])]) {
        const startMs = performance.now()
        const error = await rejection(within(300, start))
        assert.ok(error instanceof DeadlineExceededError)
        assert.ok(performance.now() - startMs < 5000)
        await until('the server stopped working on it', async () => (await running()) === 0)
      }
      const [[afterwards]] = (await pool.query('select connection_id() as id')) as unknown as [[{ id: number }]]
      assert.equal(afterwards.id, before.id)
      assert.equal(pendingFairTimers(), 0)
    }),
)

test('a callback of execute() is called once, also if its PREPARE fails after the deadline', { skip }, () =>
  withPool({ connectionLimit: 1 }, async pool => {
    bound(pool, { queryMs: 300 })
    const pooled = await pool.getConnection()
    const { connection } = pooled as unknown as { connection: mysql.Connection }
    const errors: Error[] = []
    // A query without a callback has no limit, and the next statement waits for it.
    const before = once(connection.query('do sleep(1)'), 'end')
    connection.execute('select * from no_such_table', [], error => errors.push(error!))
    await before
    await once(connection.query('select 1 as n'), 'end')
    assert.equal(errors.length, 1)
    assert.ok(errors[0] instanceof DeadlineExceededError)
    pooled.release()
  }),
)

test('queryMs applies without a budget, and the error names it', { skip }, () =>
  withPool({ connectionLimit: 1 }, async pool => {
    bound(pool, { queryMs: 500 })
    await one(pool)
    const error = await rejection(pool.query('select sleep(30)'))
    assert.ok(error instanceof DeadlineExceededError)
    assert.equal(error.phase, 'query')
    assert.match(error.message, /a MySQL query took more than 500 ms/)
  }),
)

test('aborting the budget kills the query', { skip }, () =>
  withPool({ connectionLimit: 1 }, async pool => {
    bound(pool)
    const controller = new AbortController()
    const left = rejection(within(60_000, () => pool.query('select sleep(30)'), { signal: controller.signal }))
    await until('it runs', async () => (await running()) === 1)
    controller.abort(new Error('the client has left'))
    assert.equal(((await left) as Error).message, 'the client has left')
    await until('killed', async () => (await running()) === 0)
    assert.deepEqual(await one(pool), [{ n: 1 }])
  }),
)

test('a query is killed at the address of its connection, even if its host name now has another', { skip }, async t => {
  let lookups = 0
  type Found = (error: null, address: string | LookupAddress[], family?: number) => void
  t.mock.method(dns, 'lookup', (_host: string, options: LookupOptions, found: Found) => {
    // Nothing listens at the second address.
    const address = lookups++ === 0 ? '127.0.0.1' : '127.0.0.2'
    if (options.all === true) process.nextTick(found, null, [{ address, family: 4 }])
    else process.nextTick(found, null, address, 4)
  })
  const connection = bound(await mysqlPromise.createConnection({ ...config(), host: 'database.test' }))
  try {
    const late = await rejection(within(300, () => connection.query('select sleep(30)')))
    assert.ok(late instanceof DeadlineExceededError)
    await until('killed', async () => (await running()) === 0)
    assert.deepEqual(await one(connection), [{ n: 1 }])
    assert.equal(lookups, 1)
  } finally {
    connection.destroy()
  }
})

test('a query over a Unix socket is killed as well', { skip }, async () => {
  const [[at]] = (await watcher.query('select @@socket as path')) as unknown as [[{ path: string }]]
  const connection = bound(await mysqlPromise.createConnection({ user: 'root', socketPath: at.path }))
  try {
    const late = await rejection(within(300, () => connection.query('select sleep(30)')))
    assert.ok(late instanceof DeadlineExceededError)
    await until('killed', async () => (await running()) === 0)
    assert.deepEqual(await one(connection), [{ n: 1 }])
  } finally {
    connection.destroy()
  }
})

test('behind a balancer that leads to another server, a late query kills none there', { skip }, async () => {
  const other = await startMariadb()
  const ports = [server.port]
  const balancer = net.createServer(socket => {
    // Only the first connection goes to the server of the query.
    const upstream = net.connect(ports.shift() ?? other.port, '127.0.0.1')
    socket.on('error', () => upstream.destroy())
    upstream.on('error', () => socket.destroy())
    socket.pipe(upstream)
    upstream.pipe(socket)
  })
  balancer.listen(0, '127.0.0.1')
  await once(balancer, 'listening')
  const { port } = balancer.address() as AddressInfo
  const connection = bound(await mysqlPromise.createConnection({ ...config(), port }))
  connection.on('error', () => {})
  const onOther = (): Promise<mysqlPromise.Connection> =>
    mysqlPromise.createConnection({ ...config(), port: other.port })
  let innocent = await onOther()
  try {
    while (innocent.threadId < connection.threadId) {
      innocent.destroy()
      innocent = await onOther()
    }
    assert.equal(innocent.threadId, connection.threadId)
    const spared = innocent.query('select sleep(1.5) as s')
    const late = await rejection(within(150, () => connection.query('select sleep(2)')))
    assert.ok(late instanceof DeadlineExceededError)
    assert.deepEqual((await spared)[0], [{ s: 0 }])
    await until('the query is over', async () => (await running()) === 0)
  } finally {
    innocent.destroy()
    connection.destroy()
    balancer.close()
    await other.stop()
  }
})

test('a connection continues its transaction after a killed query', { skip }, () =>
  withPool({ connectionLimit: 1, database: 'mysql' }, async pool => {
    bound(pool)
    await pool.query('create or replace table kept (n int) engine=innodb')
    const connection = await pool.getConnection()
    await connection.beginTransaction()
    await connection.query('insert into kept values (1)')
    const late = within(150, () => connection.query('select sleep(30)'))
    assert.ok((await rejection(late)) instanceof DeadlineExceededError)
    await connection.rollback()
    connection.release()
    assert.deepEqual((await pool.query('select * from kept'))[0], [])
  }),
)

test('an app without time left for a ROLLBACK leaves no transaction open', { skip }, () =>
  withPool({ connectionLimit: 1, database: 'mysql' }, async pool => {
    bound(pool)
    await pool.query('create or replace table kept (n int) engine=innodb')
    const transaction = within(150, async () => {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        await connection.query('insert into kept values (1)')
        await connection.query('select sleep(30)')
      } finally {
        await connection.rollback().catch(() => {})
        connection.release()
      }
    })
    assert.ok((await rejection(transaction)) instanceof DeadlineExceededError)
    assert.deepEqual((await pool.query('select * from kept'))[0], [])
    assert.deepEqual((await pool.query('select @@in_transaction as n'))[0], [{ n: 0 }])
  }),
)

test('a kill that arrives about when its query ends never hits the next one', { skip }, () =>
  withPool({ connectionLimit: 1 }, async pool => {
    bound(pool)
    await one(pool)
    for (let i = 0; i < 40; i++) {
      await within(20, () => pool.query(`select sleep(${0.016 + (i % 10) / 1000})`)).catch(() => {})
      assert.deepEqual((await pool.query('select sleep(0.01) as s'))[0], [{ s: 0 }])
    }
  }),
)

test('under overload a pool serves the newest queries first, and loses no connection', { skip }, () =>
  withPool({ connectionLimit: 2 }, async pool => {
    bound(pool)
    let connections = 0
    pool.on('connection', () => connections++)
    const outcomes: boolean[] = []
    const calls = []
    for (let i = 0; i < 200; i++) {
      await sleep(10)
      const call = within(400, () => pool.query('select sleep(0.1)'))
      calls.push(
        call.then(
          () => outcomes.push(true),
          () => outcomes.push(false),
        ),
      )
    }
    await Promise.all(calls)
    // Each connection can answer ten a second, forty in all. First come, first served would answer eight in time.
    assert.ok(outcomes.filter(Boolean).length >= 16, `${outcomes.filter(Boolean).length} in time`)
    assert.equal(connections, 2)
    await until('all timers are gone', () => pendingFairTimers() === 0)
  }),
)

test('acquireMs limits the wait for a connection, and a caller that gave up takes none', { skip }, () =>
  withPool({ connectionLimit: 1 }, async pool => {
    bound(pool, { acquireMs: 100 })
    const held = await pool.getConnection()
    for (const error of await Promise.all([rejection(pool.query('select 1')), rejection(pool.getConnection())])) {
      assert.ok(error instanceof DeadlineExceededError)
      assert.equal(error.phase, 'acquire')
    }
    held.release()
    assert.deepEqual(await within(5000, () => one(pool)), [{ n: 1 }])
    assert.deepEqual(await within(5000, () => one(pool)), [{ n: 1 }])
  }),
)

test('a callback pool runs callbacks in the async context of the caller', { skip }, async () => {
  const pool = bound(mysql.createPool({ ...config(), connectionLimit: 1 }))
  const store = new AsyncLocalStorage<string>()
  const held = await new Promise<mysql.PoolConnection>((resolve, reject) =>
    pool.getConnection((e, c) => (e ? reject(e) : resolve(c))),
  )
  const seen = store.run('mine', () => new Promise(resolve => pool.query('select 1', () => resolve(store.getStore()))))
  await within(1000, async () => held.release())
  assert.equal(await seen, 'mine')
  await new Promise(resolve => pool.end(resolve))
})

test('a lone connection: a late query in the queue is dropped without harm to the others', { skip }, async () => {
  const connection = bound(await mysqlPromise.createConnection(config()))
  const slow = connection.query('select sleep(0.3)')
  const impatient = rejection(within(60, () => connection.query('select 2')))
  const patient = connection.query('select 3 as n')
  assert.ok((await impatient) instanceof DeadlineExceededError)
  await slow
  assert.deepEqual((await patient)[0], [{ n: 3 }])
  assert.deepEqual(await one(connection), [{ n: 1 }])
  assert.ok((await rejection(within(100, () => connection.query('select sleep(30)')))) instanceof DeadlineExceededError)
  assert.deepEqual(await one(connection), [{ n: 1 }], 'it goes on')
  assert.equal(await running(), 0)
  await connection.end()
})

test('a query that is late on arrival rejects without harm', { skip }, () =>
  withPool({ connectionLimit: 1 }, async pool => {
    bound(pool)
    await one(pool)
    const error = await rejection(
      within(
        30,
        async () => {
          block(20)
          await sleep(5)
          return pool.query('select sleep(30)')
        },
        { needsMs: 0 },
      ),
    )
    assert.ok(error instanceof DeadlineExceededError)
    assert.deepEqual(await one(pool), [{ n: 1 }])
  }),
)

test('an answer in the socket beats a deadline that passed while the loop stalled, in 20 of 20 runs', { skip }, () =>
  withPool({ connectionLimit: 1 }, async pool => {
    bound(pool)
    await one(pool)
    for (let i = 0; i < 20; i++) {
      const query = within(100, () => pool.query('select sleep(0.02) as s'))
      setTimeout(() => block(150), 5)
      assert.deepEqual((await query)[0], [{ s: 0 }])
    }
  }),
)

test('a connection that arrives after its caller gave up returns to the pool', { skip }, () =>
  withPool({ connectionLimit: 1, queueLimit: 10 }, async pool => {
    bound(pool, { acquireMs: 100 })
    const held = await pool.getConnection()
    assert.ok((await rejection(pool.getConnection())) instanceof DeadlineExceededError)
    held.release()
    await sleep(20) // the connection arrives now
    assert.deepEqual(await one(pool), [{ n: 1 }])
  }),
)

const CROWDED: [mysql.PoolOptions, string[]][] = [
  [{ queueLimit: 1 }, ['done', 'done', 'Queue limit reached.']],
  [{ waitForConnections: false }, ['done', 'No connections available.', 'No connections available.']],
]
for (const arm of ['bare', 'bound']) {
  for (const [options, expected] of CROWDED) {
    test(`a crowded pool rejects the callers that came last, ${arm}: ${JSON.stringify(options)}`, { skip }, () =>
      withPool({ connectionLimit: 1, ...options }, async pool => {
        if (arm === 'bound') bound(pool)
        const calls = expected.map(() =>
          pool.query('select 1').then(
            () => 'done',
            (error: Error) => error.message,
          ),
        )
        assert.deepEqual(await Promise.all(calls), expected)
      }),
    )
  }
}

test('bound() rejects anything but a known client, and says what it expects', () => {
  for (const other of [{}, { query() {} }, []]) {
    assert.throws(() => bound(other), /needs a pool or connection of the package mysql2 \(version 3\); got/)
  }
})
