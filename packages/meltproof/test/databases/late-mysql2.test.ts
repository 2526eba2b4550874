/** What happens to a MySQL connection with a late query that is not killed: meltproof/mysql2, bare mysql2, a MariaDB. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import mysql from 'mysql2'
import mysqlPromise from 'mysql2/promise'
import { bound } from '../../src/databases/mysql2.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { skipWithout } from '../installed.ts'
import { rejection } from '../rejection.ts'
import { type Running, startMariadb } from './real-servers.ts'

const skip = skipWithout('mariadbd', 'mariadb-server')
/** A connection that is blocked for ever fails its test. */
const inTime = { skip, timeout: 20_000 }

let server: Running
/** The server sees the ports of this proxy instead of those of its clients, so meltproof sends no KILL QUERY. */
let proxy: net.Server
const behindProxy = (): mysql.PoolOptions => ({
  host: '127.0.0.1',
  port: (proxy.address() as AddressInfo).port,
  user: 'root',
})

before(async () => {
  if (skip !== false) return
  server = await startMariadb()
  proxy = net.createServer(socket => {
    const upstream = net.connect(server.port, '127.0.0.1')
    socket.on('error', () => upstream.destroy())
    upstream.on('error', () => socket.destroy())
    socket.pipe(upstream).pipe(socket)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
})
after(async () => {
  proxy?.close()
  await server?.stop()
})

const isDiscarded = (error: unknown): boolean => isMeltproofError(error) && error.code === 'MELTPROOF_CLIENT_DISCARDED'
async function idOf(pool: mysqlPromise.Pool): Promise<unknown> {
  const [rows] = await pool.query('select connection_id() as id')
  return (rows as { id: number }[])[0]!.id
}

type Wrap = <T extends object>(client: T) => T
const ARMS: [string, Wrap][] = [
  ['bare', client => client],
  ['bound', client => bound(client)],
]

for (const [arm, wrap] of ARMS) {
  for (const method of ['query', 'execute'] as const) {
    test(`${arm}: the timeout of mysql2 for a late ${method}() does not block the connection`, inTime, async () => {
      const pool = wrap(mysqlPromise.createPool({ ...behindProxy(), connectionLimit: 1 }))
      const id = await idOf(pool)
      const options = { sql: 'select sleep(1)', timeout: 400 }
      const late = within(100, () => (method === 'query' ? pool.query(options) : pool.execute(options)))
      assert.ok((await rejection(late)) instanceof DeadlineExceededError)
      assert.equal(await idOf(pool), id)
      await pool.end()
    })
  }

  test(`${arm}: when the user has no queries left, the app gets the error of the server`, inTime, async () => {
    const watcher = await mysqlPromise.createConnection({ host: '127.0.0.1', port: server.port, user: 'root' })
    await watcher.query(`create user ${arm}@'127.0.0.1' with max_queries_per_hour 2`)
    await watcher.end()
    const config = { host: '127.0.0.1', port: server.port, user: arm, connectionLimit: 1 }
    const pool = wrap(mysqlPromise.createPool(config))
    let connections = 0
    pool.on('connection', () => connections++)
    const connection = await pool.getConnection()
    await connection.query('select 1')
    const slow = connection.query('select sleep(0.4)')
    const late = rejection(within(100, () => connection.query('select 2')))
    await slow
    assert.ok((await late) instanceof DeadlineExceededError)
    connection.release()
    assert.equal(((await rejection(pool.query('select 3'))) as { errno: number }).errno, 1226)
    // Whether a transaction is open is not known, so meltproof closes the connection.
    assert.equal(connections, arm === 'bare' ? 1 : 2)
    await pool.end()
  })

  test(`${arm}: a pool with a late query ends`, inTime, async () => {
    const pool = wrap(mysqlPromise.createPool({ ...behindProxy(), connectionLimit: 1 }))
    const seconds = arm === 'bare' ? 0.5 : 10
    const late = within(100, () => pool.query(`select sleep(${seconds})`))
    assert.ok((await rejection(late)) instanceof DeadlineExceededError)
    await pool.end()
  })

  test(
    `${arm}: everything behind a late query is answered, or gets an error when the connection is closed`,
    inTime,
    async () => {
      const core = wrap(mysql.createConnection(behindProxy()))
      const errors: Error[] = []
      core.on('error', error => errors.push(error))
      const connection = core.promise()
      await connection.query('select 1')
      const seconds = arm === 'bare' ? 0.5 : 10
      assert.ok(
        (await rejection(within(100, () => connection.query(`select sleep(${seconds})`)))) instanceof
          DeadlineExceededError,
      )
      const executed: unknown[] = []
      core.execute('select 2', error => executed.push(error))
      const outcomes = await Promise.allSettled([
        core.query('select 3').stream().toArray(),
        core.execute('select 4').stream().toArray(),
        connection.ping(),
        connection.prepare('select 5'),
        connection.end(),
      ])
      if (arm === 'bare') {
        assert.deepEqual(executed, [null])
        assert.ok(outcomes.every(({ status }) => status === 'fulfilled'))
      } else {
        assert.equal(outcomes.pop()!.status, 'fulfilled', 'end() succeeds')
        for (const outcome of outcomes) assert.ok(outcome.status === 'rejected' && isDiscarded(outcome.reason))
        core.execute('select 6', error => executed.push(error))
        // Without a listener its error goes nowhere.
        core.execute('select 7')
        assert.ok(isDiscarded(await rejection(core.query('select 8').stream().toArray())))
        assert.ok(isDiscarded(await rejection(core.execute('select 9').stream().toArray())))
        assert.ok(isDiscarded(await rejection(connection.ping())))
        await connection.end()
        assert.equal(executed.length, 2)
        assert.ok(executed.every(isDiscarded))
      }
      assert.deepEqual(errors, [])
      core.destroy()
    },
  )
}
