/** Queries and commands are noted for observers, against real servers. */
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
import { runInScope } from '../../src/scope.ts'
import { skipWithout, startMariadb, startPostgres, startRedis } from './real-servers.ts'

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

test('PostgreSQL: a record has the peer, the time, the outcome and the request, and never the password', async () => {
  const server = await startPostgres()
  const config = { host: '127.0.0.1', port: server.port, user: 'postgres', password: 'secret', database: 'postgres' }
  const pool = boundPg(new pg.Pool({ ...config, max: 1 }))
  pool.on('error', () => {})
  const scope = { openCalls: 0 }
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

test('MySQL: the same', { skip: skipWithout('mariadbd', 'mariadb-server') }, async () => {
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
  await server.stop()
})

test('Redis: the same', { skip: skipWithout('redis-server', 'redis-server') }, async () => {
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
