/** A deadline ends work, never cleanup (docs/databases.md): meltproof/pg and bare pg against a real PostgreSQL. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { bound } from '../../src/databases/pg.ts'
import { DeadlineExceededError, unbounded, within } from '../../src/deadline/index.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { rejection } from '../rejection.ts'
import { cancelProxy } from './cancel-proxy.ts'
import { type Running, startPostgres } from './real-servers.ts'

/** More than twice the deadlines of these tests: stalls of a busy machine extend limits. */
const LONGER_MS = 400
const DEADLINE_MS = 150

let server: Running
/** A client without limits, to observe the database. */
let watcher: pg.Client
const config = (port = server.port): pg.PoolConfig => ({
  host: '127.0.0.1',
  port,
  user: 'postgres',
  password: 'secret',
  database: 'postgres',
})

before(async () => {
  server = await startPostgres()
  watcher = new pg.Client(config())
  await watcher.connect()
  await watcher.query('create table written (n int)')
})
after(async () => {
  await watcher?.end()
  await server?.stop()
})

const written = async (): Promise<number[]> => {
  const { rows } = await watcher.query('select n from written order by n')
  await watcher.query('truncate written')
  return rows.map(({ n }) => n)
}
const codeOf = (error: unknown): unknown => (isMeltproofError(error) ? error.code : error)
const pidOf = async (on: pg.Pool | pg.ClientBase): Promise<number> =>
  (await on.query('select pg_backend_pid() as pid')).rows[0].pid

async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await check()) return
    await sleep(25)
  }
  assert.fail(`not within 10 s: ${what}`)
}

const warnings: string[] = []
process.on('warning', warning => {
  if (warning.name === 'MeltproofWarning') warnings.push(warning.message)
})

type Wrap = <T extends object>(client: T) => T
const ARMS: [string, Wrap][] = [
  ['bare', client => client],
  ['bound', client => bound(client)],
]

async function withClient(wrap: Wrap, run: (client: pg.Client) => Promise<void>, port?: number): Promise<void> {
  const client = wrap(new pg.Client(config(port)))
  client.on('error', () => {})
  await client.connect()
  try {
    await run(client)
  } finally {
    await client.end()
  }
}

async function withPool(wrap: Wrap, run: (pool: pg.Pool) => Promise<void>, options: pg.PoolConfig = {}): Promise<void> {
  const pool = wrap(new pg.Pool({ ...config(), max: 1, ...options }))
  pool.on('error', () => {})
  try {
    await run(pool)
  } finally {
    await pool.end()
  }
}

/**
 * The textbook transaction. The deadline passes while `work` runs. Returns the result once the transaction has ended.
 */
function transaction(client: pg.ClientBase, work: () => Promise<unknown>): Promise<unknown> {
  let over: Promise<unknown> = Promise.resolve()
  const late = within(DEADLINE_MS, () => {
    over = (async () => {
      try {
        await client.query('BEGIN')
        await client.query('INSERT INTO written VALUES (1)')
        await work()
        await client.query('COMMIT')
        return 'committed'
      } catch (error) {
        await client.query('ROLLBACK')
        return error
      }
    })()
    return over
  })
  return late.catch(() => over)
}

for (const [arm, wrap] of ARMS) {
  test(`a lone client, ${arm}: COMMIT and ROLLBACK still run if the deadline passes between two queries`, () =>
    withClient(wrap, async client => {
      assert.equal(await transaction(client, () => sleep(LONGER_MS)), 'committed')
      const thrown = await transaction(client, async () => {
        await sleep(LONGER_MS)
        throw new Error('of the app')
      })
      assert.equal((thrown as Error).message, 'of the app')
      for (let n = 2; n < 7; n++) await client.query('INSERT INTO written VALUES ($1)', [n])
      assert.deepEqual(await written(), [1, 2, 3, 4, 5, 6])
    }))

  for (const leaves of ['the deadline passes', 'the client leaves'] as const) {
    test(`a pool, ${arm}: cleanup in a finally block still runs if ${leaves} between two queries`, () =>
      withPool(wrap, async pool => {
        const pid = await pidOf(pool)
        const controller = new AbortController()
        const deadlineMs = leaves === 'the client leaves' ? 60_000 : DEADLINE_MS
        let over: Promise<void> | undefined
        const late = within(
          deadlineMs,
          () => {
            over = (async () => {
              const client = await pool.connect()
              try {
                await client.query("SET search_path TO 'tenant_a'")
                await client.query('SELECT pg_advisory_lock(7)')
                if (leaves === 'the client leaves') controller.abort(new Error('the client has left'))
                await sleep(LONGER_MS)
              } finally {
                await client.query('SELECT pg_advisory_unlock(7)')
                await client.query('RESET search_path')
                client.release()
              }
            })()
            return over
          },
          { signal: controller.signal },
        )
        await late.catch(() => {})
        await over
        assert.equal((await pool.query('SHOW search_path')).rows[0].search_path, '"$user", public')
        const { rows } = await watcher.query("select 1 from pg_locks where locktype = 'advisory'")
        assert.equal(rows.length, 0)
        assert.equal(await pidOf(pool), pid, 'nothing was cut short: the connection is as good as before')
      }))
  }

  test(`a lone client, ${arm}: without a deadline its events and errors are those of pg`, () =>
    withClient(wrap, async client => {
      let drains = 0
      client.on('drain', () => drains++)
      await Promise.all([client.query('select 1'), client.query('select 2')])
      await new Promise(setImmediate)
      assert.equal(drains, 1)
      const ended = wrap(new pg.Client(config()))
      await ended.connect()
      const error = new Promise(resolve => ended.on('error', resolve))
      const { connection } = ended as unknown as { connection: { emit(event: string, message: object): void } }
      connection.emit('errorMessage', new Error('out of order'))
      assert.equal(((await error) as Error).message, 'out of order')
      await ended.end()
      class Own extends Promise<unknown> {}
      const other = wrap(new pg.Client({ ...config(), Promise: Own } as pg.ClientConfig))
      const connecting = other.connect()
      assert.ok(connecting instanceof Own)
      await connecting
      const asking = other.query('select 1')
      assert.ok(asking instanceof Own)
      await asking
      await other.end()
    }))
}

test('COMMIT of a transaction with a late query is refused, where bare pg reports a ROLLBACK', async () => {
  await withClient(
    client => client,
    async client => {
      await client.query('BEGIN')
      await client.query('INSERT INTO written VALUES (1)')
      await rejection(client.query('select 1 / 0'))
      assert.equal((await client.query('COMMIT')).command, 'ROLLBACK')
    },
  )
  await withClient(bound, async client => {
    await client.query('BEGIN')
    await client.query('INSERT INTO written VALUES (1)')
    const late = await rejection(within(DEADLINE_MS, () => client.query('select pg_sleep(30)')))
    assert.ok(late instanceof DeadlineExceededError)
    for (const text of ['COMMIT', '/* route */ INSERT INTO written VALUES (2)', 'END']) {
      assert.equal(codeOf(await rejection(client.query(text))), 'MELTPROOF_TRANSACTION_BROKEN')
    }
    const refused = (await rejection(client.query('COMMIT'))) as Error
    assert.match(refused.message, /^COMMIT was refused: .*send ROLLBACK\.$/)
    assert.equal((refused.cause as Error).cause, late)
    await client.query('-- cleanup\n ROLLBACK')
    await client.query('INSERT INTO written VALUES (3)')
    assert.deepEqual(await written(), [3])
  })
})

test('statements queued behind a cancelled one in its transaction do not run before ROLLBACK', () =>
  withClient(bound, async client => {
    await client.query('BEGIN')
    const late = within(DEADLINE_MS, () => client.query('select pg_sleep(30)')).catch(() => {})
    const outcomes = Promise.allSettled([
      client.query('INSERT INTO written VALUES (1)'),
      client.query('COMMIT'),
      client.query('ROLLBACK'),
      client.query('INSERT INTO written VALUES (2)'),
    ])
    await late
    const [insert, commit, rollback, next] = await outcomes
    assert.deepEqual(
      [insert.status, commit.status, rollback.status, next.status].join(),
      'rejected,rejected,fulfilled,fulfilled',
    )
    assert.deepEqual(await written(), [2])
  }))

test('a statement dropped from the queue breaks its transaction until ROLLBACK TO a savepoint', () =>
  withClient(bound, async client => {
    await client.query('BEGIN')
    await client.query('INSERT INTO written VALUES (1)')
    await client.query('SAVEPOINT before')
    const running = client.query('select pg_sleep(0.4)')
    await rejection(within(DEADLINE_MS, () => client.query('INSERT INTO written VALUES (2)')))
    await running
    assert.equal(codeOf(await rejection(client.query('COMMIT'))), 'MELTPROOF_TRANSACTION_BROKEN')
    await client.query('ROLLBACK TO before')
    await client.query('INSERT INTO written VALUES (3)')
    await client.query('COMMIT')
    assert.deepEqual(await written(), [1, 3])
  }))

test('a broken transaction without a ROLLBACK is not committed, and its client is closed, with one warning', () =>
  withClient(bound, async client => {
    warnings.length = 0
    await client.query('BEGIN')
    await rejection(within(DEADLINE_MS, () => client.query('select pg_sleep(30)')))
    const ended = once(client, 'end')
    assert.equal(
      codeOf(await rejection(client.query('INSERT INTO written VALUES (1)'))),
      'MELTPROOF_TRANSACTION_BROKEN',
    )
    await ended
    assert.equal(codeOf(await rejection(client.query('INSERT INTO written VALUES (1)'))), 'MELTPROOF_CLIENT_DISCARDED')
    assert.deepEqual(await written(), [])
    assert.equal(warnings.filter(text => text.includes('its broken transaction was not rolled back')).length, 1)
  }))

test('a COMMIT under way when its deadline passes is not cancelled, and its caller gets the result', async () => {
  await watcher.query(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return null; end $$;
    create table slowly (n int);
    create constraint trigger slow after insert on slowly deferrable initially deferred for each row execute function slow();
  `)
  const proxy = await cancelProxy(server.port)
  await withClient(
    bound,
    async client => {
      await client.query('BEGIN')
      await client.query('INSERT INTO slowly VALUES (1)')
      let commit: Promise<pg.QueryResult> | undefined
      const late = within(DEADLINE_MS, () => {
        commit = client.query('COMMIT')
        return commit
      })
      assert.ok((await rejection(late)) instanceof DeadlineExceededError)
      assert.equal((await commit!).command, 'COMMIT')
      assert.equal(proxy.cancels, 0)
      assert.equal((await watcher.query('select * from slowly')).rowCount, 1)
    },
    proxy.port,
  )
  await proxy.stop()
})

test('a pool: a checked-out connection with a cancelled query is closed, and the next has run the connect hook', () =>
  withPool(bound, async pool => {
    pool.on('connect', client => void client.query('SET lock_timeout TO 4321'))
    const client = await pool.connect()
    const pid = await pidOf(client)
    await client.query("SET search_path TO 'tenant_a'")
    await rejection(within(DEADLINE_MS, () => client.query('select pg_sleep(30)')))
    client.release()
    assert.equal((await pool.query('SHOW search_path')).rows[0].search_path, '"$user", public')
    assert.equal((await pool.query('SHOW lock_timeout')).rows[0].lock_timeout, '4321ms')
    assert.notEqual(await pidOf(pool), pid)
    assert.equal(pool.totalCount, 1)
  }))

test('a pool: a transaction with a statement dropped from the queue cannot be committed', () =>
  withPool(bound, async pool => {
    const client = await pool.connect()
    await client.query('BEGIN')
    await client.query('INSERT INTO written VALUES (1)')
    const running = client.query('select pg_sleep(0.4)')
    await rejection(within(DEADLINE_MS, () => client.query('INSERT INTO written VALUES (2)')))
    await running
    assert.equal(codeOf(await rejection(client.query('COMMIT'))), 'MELTPROOF_TRANSACTION_BROKEN')
    client.release()
    await pool.query('INSERT INTO written VALUES (3)')
    assert.deepEqual(await written(), [3])
  }))

test('a pool: after the deadline connect() and query() are refused, and nothing is sent', () =>
  withPool(bound, async pool => {
    const ended = Promise.withResolvers<unknown[]>()
    const late = within(DEADLINE_MS, async () => {
      await sleep(LONGER_MS)
      const calls = [pool.query('INSERT INTO written VALUES (1)'), pool.connect()]
      ended.resolve(await Promise.all(calls.map(call => rejection(call))))
    })
    await rejection(late)
    for (const error of await ended.promise) assert.ok(error instanceof DeadlineExceededError)
    assert.equal(pool.totalCount, 0)
    assert.deepEqual(await written(), [])
  }))

test('a cleanup longer than its grace period closes the connection, with one warning, and queries are refused', () =>
  withPool(bound, async pool => {
    warnings.length = 0
    const pid = await pidOf(pool)
    for (let i = 0; i < 2; i++) {
      let over: Promise<unknown[]> | undefined
      const late = within(DEADLINE_MS, () => {
        over = (async () => {
          const client = await pool.connect()
          await client.query("SET search_path TO 'tenant_a'")
          await sleep(LONGER_MS)
          const slow = await rejection(client.query('select pg_sleep(30)'))
          const next = await rejection(client.query('RESET search_path'))
          client.release()
          return [slow, next]
        })()
        return over
      })
      await rejection(late)
      const [slow, next] = (await over) ?? []
      assert.ok(slow instanceof DeadlineExceededError)
      assert.equal(codeOf(next), 'MELTPROOF_CLIENT_DISCARDED')
      assert.equal((await pool.query('SHOW search_path')).rows[0].search_path, '"$user", public')
    }
    assert.notEqual(await pidOf(pool), pid)
    assert.equal(warnings.length, 1, warnings.join('\n'))
    assert.match(
      warnings[0]!,
      /A PostgreSQL connection was closed, because a cleanup statement \(SELECT\) took longer than its 1000 ms/,
    )
  }))

test('unbounded() runs a cleanup outside the budget and its grace period', () =>
  withPool(bound, async pool => {
    let over: Promise<unknown> | undefined
    const late = within(DEADLINE_MS, () => {
      over = (async () => {
        const client = await pool.connect()
        await sleep(LONGER_MS)
        const slow = await unbounded(() => client.query('select pg_sleep(2), 1 as n'))
        client.release()
        return slow.rows[0].n
      })()
      return over
    })
    await rejection(late)
    assert.equal(await over, 1)
    assert.equal(await unbounded(() => 5), 5)
  }))

test('if the database dies during a cleanup, the cleanup fails, and the pool drops the connection', async () => {
  const proxy = await cancelProxy(server.port)
  const behind = bound(new pg.Pool({ ...config(proxy.port), max: 1 }))
  behind.on('error', () => {})
  let over: Promise<unknown> | undefined
  const late = within(DEADLINE_MS, () => {
    over = (async () => {
      const client = await behind.connect()
      client.on('error', () => {})
      await sleep(LONGER_MS)
      const cleanup = client.query('ROLLBACK; select pg_sleep(0.5)')
      await proxy.stop()
      const error = await rejection(cleanup)
      client.release(error as Error)
      return error
    })()
    return over
  })
  await rejection(late)
  assert.match(String(await over), /Connection terminated|ECONNRESET/)
  await until('it has left the pool', () => behind.totalCount === 0)
  await behind.end()
})

test('a late BEGIN is not cut short', () =>
  withClient(bound, async client => {
    const over = Promise.withResolvers<unknown>()
    const late = within(DEADLINE_MS, async () => {
      const before = client.query('select pg_sleep(0.4)').catch(() => {})
      await client.query('BEGIN').then(() => over.resolve('begun'), over.resolve)
      await before
    })
    await rejection(late)
    assert.equal(await over.promise, 'begun')
    await client.query('ROLLBACK')
    await client.query('INSERT INTO written VALUES (1)')
    assert.deepEqual(await written(), [1])
  }))

test('a connection is closed if a cancelled pool.query() left a transaction open on it', () =>
  withPool(bound, async pool => {
    const pid = await pidOf(pool)
    await rejection(within(DEADLINE_MS, () => pool.query('BEGIN; INSERT INTO written VALUES (1); select pg_sleep(30)')))
    await pool.query('INSERT INTO written VALUES (2)')
    assert.notEqual(await pidOf(pool), pid)
    assert.deepEqual(await written(), [2])
  }))

test('a late query whose ROLLBACK exceeds the grace period is not left running', async () => {
  const proxy = await cancelProxy(server.port)
  const pool = bound(new pg.Pool({ ...config(proxy.port), max: 1 }))
  proxy.treatment = 'swallow'
  const over = Promise.withResolvers<unknown>()
  const late = within(DEADLINE_MS, async () => {
    const client = await pool.connect()
    await client.query('BEGIN')
    const slow = await rejection(client.query('select pg_sleep(1.9)'))
    over.resolve([slow, await rejection(client.query('ROLLBACK'))])
    client.release()
  })
  await rejection(late)
  for (const error of (await over.promise) as unknown[]) assert.ok(error instanceof DeadlineExceededError)
  assert.equal(proxy.connections, 1)
  await pool.query('INSERT INTO written VALUES (1)')
  assert.equal(proxy.connections, 2)
  const { rows } = await watcher.query(
    "select 1 from pg_stat_activity where query like '%pg_sleep(1.9)%' and state = 'active' and pid <> pg_backend_pid()",
  )
  assert.equal(rows.length, 0)
  assert.deepEqual(await written(), [1])
  await pool.end()
  await proxy.stop()
})

test('a pool: a transaction that a deadline leaves without a ROLLBACK is not committed', () =>
  withPool(bound, async pool => {
    const released = Promise.withResolvers<void>()
    const late = within(DEADLINE_MS, async () => {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        await client.query('INSERT INTO written VALUES (1)')
        await sleep(LONGER_MS)
        await within(1000, () => client.query('COMMIT'))
      } finally {
        client.release()
        released.resolve()
      }
    })
    await rejection(late)
    await released.promise
    await pool.query('INSERT INTO written VALUES (2)')
    assert.deepEqual(await written(), [2])
  }))

test('a lone client: a RESET refused in a broken transaction discards the client after ROLLBACK', () =>
  withClient(bound, async client => {
    await client.query("SET search_path TO 'tenant_a'")
    await client.query('BEGIN')
    await rejection(within(DEADLINE_MS, () => client.query('select pg_sleep(30)')))
    assert.match(String(await rejection(client.query('RESET search_path'))), /current transaction is aborted/)
    await client.query('ROLLBACK')
    assert.equal(codeOf(await rejection(client.query('SHOW search_path'))), 'MELTPROOF_CLIENT_DISCARDED')
  }))

test('a lone client: a ROLLBACK dropped from the queue leaves the transaction broken', async () => {
  const proxy = await cancelProxy(server.port)
  proxy.treatment = 'swallow'
  await withClient(
    bound,
    async client => {
      const outcome = Promise.withResolvers<unknown>()
      const late = within(DEADLINE_MS, async () => {
        await client.query('BEGIN')
        await rejection(client.query('select pg_sleep(1.6)'))
        outcome.resolve(await rejection(client.query('ROLLBACK')))
      })
      await rejection(late)
      assert.ok((await outcome.promise) instanceof DeadlineExceededError)
      const refused = codeOf(await rejection(client.query('INSERT INTO written VALUES (1)')))
      assert.ok(refused === 'MELTPROOF_TRANSACTION_BROKEN' || refused === 'MELTPROOF_CLIENT_DISCARDED', String(refused))
      assert.deepEqual(await written(), [])
    },
    proxy.port,
  )
  await proxy.stop()
})

test('release(err) destroys the connection, whatever the error', () =>
  withPool(bound, async pool => {
    for (const error of [new Error('of the app'), true, await rejection(within(0, () => 1))]) {
      const client = await pool.connect()
      const pid = await pidOf(client)
      client.release(error as Error)
      assert.notEqual(await pidOf(pool), pid)
    }
  }))

test('with two copies of meltproof, the second leaves alone what the first has bound', async () => {
  const copy = (await import(`../../src/databases/pg.ts?copy=${process.pid}`)) as { bound: Wrap }
  await withPool(
    client => copy.bound(bound(client)),
    async pool => {
      const client = copy.bound(await pool.connect())
      assert.ok(
        (await rejection(within(DEADLINE_MS, () => client.query('select pg_sleep(30)')))) instanceof
          DeadlineExceededError,
      )
      client.release()
      assert.equal((await pool.query('select 1 as n')).rows[0].n, 1)
    },
  )
  // The reverse: a client of one copy in a pool of the other.
  await withPool(bound, async pool => {
    pool.on('connect', client => copy.bound(client))
    assert.equal((await pool.query('select 1 as n')).rows[0].n, 1)
    const client = await pool.connect()
    client.release()
    assert.throws(() => client.release(), /already been released/)
    assert.equal((await pool.query('select 1 as n')).rows[0].n, 1)
  })
})

const TAKES_LOCK = 'select pg_try_advisory_lock(5), pg_sleep(30)'
async function locks(): Promise<number> {
  const { rows } = await watcher.query("select 1 from pg_locks where locktype = 'advisory' and objid = 5")
  return rows.length
}

test('a lock that a cancelled query took in a transaction: bound closes the client after ROLLBACK, bare keeps the lock', async () => {
  await withClient(
    client => client,
    async client => {
      const pid = await pidOf(client)
      await client.query('BEGIN')
      const cancelled = rejection(client.query(TAKES_LOCK))
      await until('it holds the lock', async () => (await locks()) === 1)
      await watcher.query('select pg_cancel_backend($1)', [pid])
      assert.match(String(await cancelled), /canceling statement due to user request/)
      await client.query('ROLLBACK')
      assert.equal(await locks(), 1)
    },
  )
  await until('it is free', async () => (await locks()) === 0)
  await withClient(bound, async client => {
    await client.query('BEGIN')
    await rejection(within(DEADLINE_MS, () => client.query(TAKES_LOCK)))
    await client.query('ROLLBACK')
    assert.equal(codeOf(await rejection(client.query('select 1'))), 'MELTPROOF_CLIENT_DISCARDED')
    await until('it is free', async () => (await locks()) === 0)
  })
})

test('a pool: the connection of a cancelled pool.query() that may have taken a lock is closed', () =>
  withPool(bound, async pool => {
    const pid = await pidOf(pool)
    await rejection(within(DEADLINE_MS, () => pool.query(TAKES_LOCK)))
    assert.notEqual(await pidOf(pool), pid)
    await until('it is free', async () => (await locks()) === 0)
  }))

test('pipeline mode: a query refused after the grace period breaks its transaction, and query_timeout does not end the client', async () => {
  const client = bound(new pg.Client({ ...config(), pipeline: true, query_timeout: 500 }))
  client.on('error', () => {})
  await client.connect()
  const controller = new AbortController()
  const ended = Promise.withResolvers<unknown>()
  const work = within(
    60_000,
    async () => {
      await client.query('BEGIN')
      await client.query('INSERT INTO written VALUES (1)')
      controller.abort(new Error('the client has left'))
      await client.query('select 1') // starts the grace period
      await sleep(2500) // stalls of a busy machine extend limits
      ended.resolve(await rejection(client.query('INSERT INTO written VALUES (2)')))
    },
    { signal: controller.signal },
  )
  await rejection(work)
  assert.equal(((await ended.promise) as Error).message, 'the client has left')
  assert.equal(codeOf(await rejection(client.query('COMMIT'))), 'MELTPROOF_TRANSACTION_BROKEN')
  await client.query('ROLLBACK')
  assert.deepEqual(await written(), [])
  await sleep(700)
  assert.equal((await client.query('select 3 as n')).rows[0].n, 3)
  await client.end()
})
