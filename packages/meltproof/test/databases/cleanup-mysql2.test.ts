/** A deadline ends work, never cleanup (docs/databases.md): meltproof/mysql2 and bare mysql2 against a real MariaDB. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection as CallbackConnection } from 'mysql2'
import mysql, { type Connection, type Pool, type PoolOptions } from 'mysql2/promise'
import { bound } from '../../src/databases/mysql2.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { skipWithout } from '../installed.ts'
import { rejection } from '../rejection.ts'
import { type Running, startMariadb } from './real-servers.ts'

const skip = skipWithout('mariadbd', 'mariadb-server')
/** More than twice the deadlines of these tests: stalls of a busy machine extend limits. */
const LONGER_MS = 400
const DEADLINE_MS = 150

let server: Running
/** A connection without limits, to observe the database. */
let watcher: Connection
const config = (): PoolOptions => ({ host: '127.0.0.1', port: server.port, user: 'root', database: 'shop' })

before(async () => {
  if (skip !== false) return
  server = await startMariadb()
  watcher = await mysql.createConnection({ ...config(), database: 'mysql' })
  await watcher.query('create database shop')
  await watcher.query('use shop')
  await watcher.query('create table written (n int) engine=innodb')
})
after(async () => {
  await watcher?.end()
  await server?.stop()
})

const warnings: string[] = []
process.on('warning', warning => {
  if (warning.name === 'MeltproofWarning') warnings.push(warning.message)
})

const codeOf = (error: unknown): unknown => (isMeltproofError(error) ? error.code : error)
async function one(on: Pool | Connection, sql: string): Promise<unknown> {
  const [rows] = await on.query(sql)
  return Object.values((rows as object[])[0]!)[0]
}
async function written(): Promise<number[]> {
  const [rows] = await watcher.query('select n from written order by n')
  await watcher.query('delete from written')
  return (rows as { n: number }[]).map(({ n }) => n)
}

type Wrap = <T extends object>(client: T) => T
const ARMS: [string, Wrap][] = [
  ['bare', client => client],
  ['bound', client => bound(client)],
]

async function withConnection(wrap: Wrap, run: (connection: Connection) => Promise<void>): Promise<void> {
  const connection = wrap(await mysql.createConnection(config()))
  connection.on('error', () => {})
  try {
    await run(connection)
  } finally {
    connection.destroy()
  }
}

async function withPool(wrap: Wrap, run: (pool: Pool) => Promise<void>, options: PoolOptions = {}): Promise<void> {
  const pool = wrap(mysql.createPool({ ...config(), connectionLimit: 1, ...options }))
  try {
    await run(pool)
  } finally {
    await pool.end()
  }
}

function transaction(connection: Connection, work: () => Promise<unknown>): Promise<unknown> {
  let over: Promise<unknown> = Promise.resolve()
  const late = within(DEADLINE_MS, () => {
    over = (async () => {
      try {
        await connection.beginTransaction()
        await connection.query('INSERT INTO written VALUES (1)')
        await work()
        await connection.commit()
        return 'committed'
      } catch (error) {
        await connection.rollback()
        return error
      }
    })()
    return over
  })
  return late.catch(() => over)
}

for (const [arm, wrap] of ARMS) {
  test(
    `a lone connection, ${arm}: COMMIT and ROLLBACK still run if the deadline passes between two queries`,
    { skip },
    () =>
      withConnection(wrap, async connection => {
        assert.equal(await transaction(connection, () => sleep(LONGER_MS)), 'committed')
        const thrown = await transaction(connection, async () => {
          await sleep(LONGER_MS)
          throw new Error('of the app')
        })
        assert.equal((thrown as Error).message, 'of the app')
        for (let n = 2; n < 7; n++) await connection.execute('INSERT INTO written VALUES (?)', [n])
        assert.deepEqual(await written(), [1, 2, 3, 4, 5, 6])
      }),
  )

  test(`a pool, ${arm}: cleanup in a finally block still runs after the deadline`, { skip }, () =>
    withPool(wrap, async pool => {
      const id = await one(pool, 'select connection_id()')
      let over: Promise<void> | undefined
      const late = within(DEADLINE_MS, () => {
        over = (async () => {
          const connection = await pool.getConnection()
          try {
            await connection.query("SET @tenant = 'a'")
            await connection.query("SELECT GET_LOCK('report', 0)")
            await sleep(LONGER_MS)
          } finally {
            await connection.query("SELECT RELEASE_LOCK('report')")
            await connection.query('SET @tenant = NULL')
            connection.release()
          }
        })()
        return over
      })
      await late.catch(() => {})
      await over
      assert.equal(await one(pool, 'select @tenant'), null)
      assert.equal(await one(watcher, "select is_used_lock('report')"), null)
      assert.equal(await one(pool, 'select connection_id()'), id)
    }),
  )

  test(`a pool, ${arm}: end() rejects callers that wait for a connection`, { skip }, async () => {
    const pool = wrap(mysql.createPool({ ...config(), connectionLimit: 1 }))
    const held = await pool.getConnection()
    const waiting = Promise.all([rejection(pool.getConnection()), rejection(pool.query('select 1'))])
    await pool.end()
    for (const error of await waiting) assert.equal((error as Error).message, 'Pool is closed.')
    held.destroy()
  })
}

test('COMMIT of a transaction with a late query is refused, where bare mysql2 commits half of it after KILL QUERY', {
  skip,
}, async () => {
  await withConnection(
    client => client,
    async connection => {
      await connection.beginTransaction()
      await connection.query('INSERT INTO written VALUES (1)')
      const killed = rejection(connection.query('INSERT INTO written SELECT sleep(30)'))
      await sleep(100)
      await watcher.query(`KILL QUERY ${connection.threadId}`)
      await killed
      await connection.commit()
      assert.deepEqual(await written(), [1], 'half of it')
    },
  )
  await withConnection(bound, async connection => {
    await connection.beginTransaction()
    await connection.query('INSERT INTO written VALUES (1)')
    const late = await rejection(within(DEADLINE_MS, () => connection.query('INSERT INTO written SELECT sleep(30)')))
    assert.ok(late instanceof DeadlineExceededError)
    assert.equal(codeOf(await rejection(connection.commit())), 'MELTPROOF_TRANSACTION_BROKEN')
    assert.equal(
      codeOf(await rejection(connection.execute('INSERT INTO written VALUES (2)'))),
      'MELTPROOF_TRANSACTION_BROKEN',
    )
    await connection.rollback()
    await connection.query('INSERT INTO written VALUES (3)')
    assert.deepEqual(await written(), [3])
  })
})

test('a statement dropped from the queue breaks its transaction until ROLLBACK TO a savepoint', { skip }, () =>
  withConnection(bound, async connection => {
    await connection.beginTransaction()
    await connection.query('INSERT INTO written VALUES (1)')
    await connection.query('SAVEPOINT earlier')
    const running = connection.query('select sleep(0.4)')
    const late = rejection(within(DEADLINE_MS, () => connection.query('INSERT INTO written VALUES (2)')))
    const commit = rejection(connection.commit())
    await running
    await late
    assert.equal(codeOf(await commit), 'MELTPROOF_TRANSACTION_BROKEN')
    await connection.query('ROLLBACK TO SAVEPOINT earlier')
    await connection.query('INSERT INTO written VALUES (3)')
    await connection.commit()
    assert.deepEqual(await written(), [1, 3])
  }),
)

test(
  'a broken transaction without a ROLLBACK is not committed, and its connection is closed, with one warning',
  { skip },
  () =>
    withConnection(bound, async connection => {
      warnings.length = 0
      await connection.beginTransaction()
      await connection.query('INSERT INTO written VALUES (1)')
      await rejection(within(DEADLINE_MS, () => connection.query('select sleep(30)')))
      const ended = new Promise(resolve => connection.once('end', resolve))
      await ended
      assert.equal(
        codeOf(await rejection(connection.query('INSERT INTO written VALUES (1)'))),
        'MELTPROOF_CLIENT_DISCARDED',
      )
      assert.deepEqual(await written(), [])
      assert.equal(warnings.filter(text => text.includes('its broken transaction was not rolled back')).length, 1)
    }),
)

test('a COMMIT under way when its deadline passes is not killed, and its caller gets the result', { skip }, () =>
  withConnection(bound, async connection => {
    await connection.beginTransaction()
    await connection.query('INSERT INTO written VALUES (1)')
    await watcher.query('FLUSH TABLES WITH READ LOCK')
    let commit: Promise<unknown> | undefined
    const late = within(DEADLINE_MS, () => {
      commit = connection.commit()
      return commit
    })
    assert.ok((await rejection(late)) instanceof DeadlineExceededError)
    await watcher.query('UNLOCK TABLES')
    await commit
    assert.deepEqual(await written(), [1])
  }),
)

test('a pool: a checked-out connection with a killed query is closed, that of pool.query() is kept', { skip }, () =>
  withPool(bound, async pool => {
    const connection = await pool.getConnection()
    const id = await one(connection, 'select connection_id()')
    await connection.query("SET @tenant = 'a'")
    await rejection(within(DEADLINE_MS, () => connection.query('select sleep(30)')))
    connection.release()
    assert.equal(await one(pool, 'select @tenant'), null)
    const next = await one(pool, 'select connection_id()')
    assert.notEqual(next, id)
    await rejection(within(DEADLINE_MS, () => pool.query('select sleep(30)')))
    assert.equal(await one(pool, 'select connection_id()'), next)
  }),
)

test('a cleanup that exceeds its grace period closes the connection, with one warning', { skip }, () =>
  withPool(bound, async pool => {
    warnings.length = 0
    for (let i = 0; i < 2; i++) {
      let over: Promise<unknown> | undefined
      const late = within(DEADLINE_MS, () => {
        over = (async () => {
          const connection = await pool.getConnection()
          await connection.query("SET @tenant = 'a'")
          await sleep(LONGER_MS)
          const slow = await rejection(connection.query('DO SLEEP(30)'))
          const next = await rejection(connection.query('SET @tenant = NULL'))
          connection.release()
          assert.equal(codeOf(next), 'MELTPROOF_CLIENT_DISCARDED')
          return slow
        })()
        return over
      })
      await rejection(late)
      assert.ok((await over) instanceof DeadlineExceededError)
      assert.equal(await one(pool, 'select @tenant'), null)
    }
    assert.equal(warnings.length, 1, warnings.join('\n'))
    assert.match(
      warnings[0]!,
      /A MySQL connection was closed, because a cleanup statement \(DO\) took longer than its 1000 ms/,
    )
  }),
)

test('pool.releaseConnection() waits for the killed query, as release() does', { skip }, () =>
  withPool(bound, async pool => {
    const connection = await pool.getConnection()
    await rejection(within(DEADLINE_MS, () => connection.query('select sleep(30)')))
    pool.releaseConnection(connection)
    assert.equal(await one(pool, 'select 1'), 1)
  }),
)

test('a pool: a transaction that a deadline leaves without a ROLLBACK is not committed', { skip }, () =>
  withPool(bound, async pool => {
    const released = Promise.withResolvers<void>()
    const late = within(DEADLINE_MS, async () => {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        await connection.query('INSERT INTO written VALUES (1)')
        await sleep(LONGER_MS)
        await within(1000, () => connection.commit())
      } finally {
        connection.release()
        released.resolve()
      }
    })
    await rejection(late)
    await released.promise
    await pool.query('INSERT INTO written VALUES (2)')
    assert.deepEqual(await written(), [2])
  }),
)

test('a lone connection: a broken transaction allows session cleanup, but no implicit commit', { skip }, () =>
  withConnection(bound, async connection => {
    await connection.query("SET @tenant = 'a'")
    await connection.beginTransaction()
    await connection.query('INSERT INTO written VALUES (1)')
    await rejection(within(DEADLINE_MS, () => connection.query('select sleep(30)')))
    await connection.query('SET @tenant = NULL')
    for (const text of ['SET autocommit = 1', 'UNLOCK TABLES', 'SET @@session.autocommit = ON']) {
      assert.equal(codeOf(await rejection(connection.query(text))), 'MELTPROOF_TRANSACTION_BROKEN')
    }
    await connection.rollback()
    assert.equal(await one(connection, 'select @tenant'), null)
    assert.deepEqual(await written(), [])
  }),
)

test('a pool that ends while a killed query is pending ends without an error', { skip }, () =>
  withPool(bound, async pool => {
    const connection = await pool.getConnection()
    await rejection(within(DEADLINE_MS, () => connection.query('select sleep(30)')))
    connection.release()
  }),
)

test("after the grace period a query is refused, whatever value the reason of the app's signal is", { skip }, () =>
  withConnection(bound, async connection => {
    const controller = new AbortController()
    let refused: Promise<unknown> | undefined
    const ended = Promise.withResolvers<void>()
    const work = within(
      60_000,
      async () => {
        await sleep(20)
        controller.abort('left')
        await connection.query('select 1')
        await sleep(1200)
        refused = rejection(connection.query('select 2')).finally(ended.resolve)
      },
      { signal: controller.signal },
    )
    assert.equal(((await rejection(work)) as Error).cause, 'left')
    await ended.promise
    assert.equal(((await refused) as Error).cause, 'left')
    assert.equal(await one(connection, 'select 3'), 3)
  }),
)

test('a lock that a killed query took in a transaction: bound closes the connection after ROLLBACK, bare keeps the lock', {
  skip,
  timeout: 20_000,
}, async () => {
  const holder = (): Promise<unknown> => one(watcher, "select is_used_lock('left')")
  const sql = "select get_lock('left', 0), sleep(30)"
  await withConnection(
    client => client,
    async connection => {
      await connection.beginTransaction()
      const killed = connection.query(sql).catch(() => {})
      while ((await holder()) === null) await sleep(25)
      await watcher.query(`KILL QUERY ${connection.threadId}`)
      await killed
      await connection.rollback()
      assert.equal(await holder(), connection.threadId)
    },
  )
  while ((await holder()) !== null) await sleep(25)
  await withConnection(bound, async connection => {
    await connection.beginTransaction()
    assert.ok((await rejection(within(DEADLINE_MS, () => connection.query(sql)))) instanceof DeadlineExceededError)
    await connection.rollback()
    while ((await holder()) !== null) await sleep(25)
    assert.equal(codeOf(await rejection(connection.query('select 1'))), 'MELTPROOF_CLIENT_DISCARDED')
  })
})

test('a callback of a ROLLBACK after which the connection is closed is called once', { skip }, () =>
  withConnection(bound, async connection => {
    await connection.beginTransaction()
    await rejection(within(DEADLINE_MS, () => connection.query("select get_lock('left', 0), sleep(30)")))
    const { connection: core } = connection as unknown as { connection: CallbackConnection }
    const answers: unknown[] = []
    core.rollback(error => answers.push(error))
    const next = await rejection(connection.query('select 1'))
    assert.equal(codeOf(next), 'MELTPROOF_CLIENT_DISCARDED')
    await sleep(50)
    assert.deepEqual(answers, [null])
  }),
)
