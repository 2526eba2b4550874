/** Queries and commands are recorded for observers, against real servers. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { calls } from '../../src/channels.ts'
import { bound as boundRedis } from '../../src/databases/ioredis.ts'
import { bound as boundMysql } from '../../src/databases/mysql2.ts'
import { bound as boundPg } from '../../src/databases/pg.ts'
import { within } from '../../src/deadline/index.ts'
import type { OutboundRecord } from '../../src/record.ts'
import { runInScope } from '../../src/outbound/scope.ts'
import { skipWithout } from '../installed.ts'
import { startMariadb, startPostgres, startRedis } from './real-servers.ts'

const seen: OutboundRecord[] = []
const see = (record: OutboundRecord): void => {
  seen.push(record)
}
calls.subscribe(see)
after(() => calls.unsubscribe(see))

const last = async (): Promise<OutboundRecord> => {
  for (let i = 0; i < 200 && seen.length === 0; i++) await sleep(10)
  return seen.splice(0).at(-1)!
}
const took = ({ startedAtMs, endedAtMs }: OutboundRecord): number => endedAtMs - startedAtMs

/** `pool` has one connection, and `sql` holds it for 200 ms. */
async function waitsForConnection(pool: { query(sql: string): Promise<unknown> }, sql: string): Promise<void> {
  const [holder, waiter] = [{ openCalls: undefined }, { openCalls: undefined }]
  await pool.query('select 1')
  seen.splice(0)
  await Promise.all([runInScope(holder, () => pool.query(sql)), runInScope(waiter, () => pool.query('select 1'))])
  assert.deepEqual(new Set(seen.map(({ scope }) => scope)), new Set([holder, waiter]), 'each is of its own request')
  const [held, waited] = seen.splice(0).sort((a, b) => a.queuedMs - b.queuedMs)
  assert.equal(held!.scope, holder)
  assert.ok(waited!.queuedMs > 150 && waited!.queuedMs < took(waited!), `${waited!.queuedMs} of ${took(waited!)}`)
}

test('PostgreSQL: the wait for a connection is recorded, also if none is obtained', async () => {
  const server = await startPostgres()
  const connectionString = `postgres://postgres:secret@127.0.0.1:${server.port}/postgres`
  const pool = boundPg(new pg.Pool({ connectionString, max: 1 }))
  pool.on('error', () => {})
  await waitsForConnection(pool, 'select pg_sleep(0.2)')
  const holder = await pool.connect()
  seen.splice(0)
  const scope = { openCalls: undefined }
  await assert.rejects(within(100, () => runInScope(scope, () => pool.query('select 1'))))
  const without = await last()
  assert.deepEqual(
    [without.peer, without.outcome, without.sentAtMs, without.scope],
    [`127.0.0.1:${server.port}/postgres`, 'timeout', undefined, scope],
  )
  assert.equal(without.queuedMs, took(without))
  const asked = pool.connect()
  await sleep(50)
  holder.release()
  const unused = await asked
  unused.release()
  const record = await last()
  assert.ok(record.queuedMs > 25 && record.queuedMs === took(record), 'it waited, and asked for nothing')
  await pool.end()
  await server.stop()
})

test('PostgreSQL: a record has peer, time, outcome and request, and never the password', async () => {
  const server = await startPostgres()
  const config = { host: '127.0.0.1', port: server.port, user: 'postgres', password: 'secret', database: 'postgres' }
  const pool = boundPg(new pg.Pool({ ...config, max: 1 }))
  pool.on('error', () => {})
  const scope = { openCalls: undefined }
  await runInScope(scope, () => pool.query('select pg_sleep(0.2)'))
  const record = await last()
  assert.deepEqual(
    [record.kind, record.peer, record.operation, record.outcome, record.scope],
    ['pg', `127.0.0.1:${server.port}/postgres`, 'query', 'answered', scope],
  )
  assert.ok(took(record) > 150)
  assert.ok(!JSON.stringify(record).includes('secret'))
  await assert.rejects(pool.query('select nonsense'))
  const refused = await last()
  assert.deepEqual([refused.outcome, refused.errorCode], ['answered', '42703'], 'what the server says is an answer')
  await assert.rejects(within(100, () => pool.query('select pg_sleep(5)')))
  const late = await last()
  assert.deepEqual([late.outcome, late.firstByteAtMs], ['timeout', undefined])
  await pool.end()
  await server.stop()
})

test('MySQL: a record has peer, time and outcome, and the wait for a connection', {
  skip: skipWithout('mariadbd', 'mariadb-server'),
}, async () => {
  const server = await startMariadb()
  const connection = boundMysql(await mysql.createConnection({ host: '127.0.0.1', port: server.port, user: 'root' }))
  seen.splice(0)
  await connection.query('select sleep(0.2)')
  const record = await last()
  assert.deepEqual([record.kind, record.operation, record.outcome], ['mysql', 'query', 'answered'])
  assert.ok(record.peer.startsWith(`127.0.0.1:${server.port}`))
  assert.ok(took(record) > 150)
  await assert.rejects(connection.query('select nonsense'))
  assert.deepEqual((await last()).outcome, 'answered')
  await connection.end()
  const pool = boundMysql(mysql.createPool({ host: '127.0.0.1', port: server.port, user: 'root', connectionLimit: 1 }))
  await waitsForConnection(pool, 'select sleep(0.2)')
  await pool.end()
  await server.stop()
})

test('Redis: a record has peer, command and outcome', {
  skip: skipWithout('redis-server', 'redis-server'),
}, async () => {
  const server = await startRedis()
  const redis = boundRedis(new Redis({ host: '127.0.0.1', port: server.port }))
  redis.on('error', () => {})
  await redis.set('key', 'value')
  const record = await last()
  assert.deepEqual([record.kind, record.operation, record.outcome], ['redis', 'SET', 'answered'])
  assert.equal(record.peer, `127.0.0.1:${server.port}/0`)
  await assert.rejects(redis.incr('key'))
  assert.equal((await last()).outcome, 'answered')
  redis.disconnect()
  await server.stop()
})
