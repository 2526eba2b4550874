/** pg prints each of its warnings once per process, so this test has its own process. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { bound } from '../../src/databases/pg.ts'
import { DeadlineExceededError, within } from '../../src/deadline/index.ts'
import { rejection } from '../rejection.ts'
import { type Running, startPostgres } from './real-servers.ts'

let server: Running
before(async () => {
  server = await startPostgres()
})
after(() => server?.stop())

const warnings: string[] = []
process.on('warning', warning => warnings.push(warning.message))

test('a ROLLBACK in the catch block of a late query runs next, and pg does not warn about it', async () => {
  const client = bound(
    new pg.Client({ host: '127.0.0.1', port: server.port, user: 'postgres', password: 'secret', database: 'postgres' }),
  )
  await client.connect()
  await client.query('create temporary table written (n int)')
  const rolledBack = Promise.withResolvers<unknown>()
  const late = within(150, async () => {
    await client.query('BEGIN')
    try {
      await client.query('INSERT INTO written VALUES (1)')
      await client.query('select pg_sleep(30)')
    } catch {
      client.query('ROLLBACK').then(({ command }) => rolledBack.resolve(command), rolledBack.reject)
    }
  })
  assert.ok((await rejection(late)) instanceof DeadlineExceededError)
  assert.equal(await rolledBack.promise, 'ROLLBACK')
  await client.query('INSERT INTO written VALUES (2)')
  assert.deepEqual((await client.query('select n from written')).rows, [{ n: 2 }])
  await client.end()
  await new Promise(setImmediate)
  assert.deepEqual(
    warnings.filter(text => text.includes('client.query()')),
    [],
  )
})
