/**
 * Positions beyond their retention time are deleted, and names without positions; a walker who continues keeps theirs.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { connect, type Database } from '../src/database/connect.ts'
import { cleanUp } from '../src/positions/clean-up.ts'
import { Store } from '../src/positions/store.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'

const DAY_MS = 86_400_000
let server: TestDatabase
let database: Database
let store: Store

before(async () => {
  server = await testDatabase()
  database = connect(server.url)
  await database.ready
})
beforeEach(async () => {
  await server.query('TRUNCATE walkers, positions')
  store = new Store(database.writer)
})
after(async () => {
  await database.close()
  await server.end()
})

const idOf = (walker: number): string => `00000000-0000-0000-0000-${String(walker).padStart(12, '0')}`
const keep = (walker: number, seq: number, ageMs: number) =>
  store.keep(idOf(walker), {
    name: `Walker ${walker}`,
    positions: [{ seq, at: Date.now() - ageMs, lat: 54, lon: 8, accuracy: 5 }],
  })
const names = async () => (await server.query('SELECT name FROM walkers ORDER BY id')).map(({ name }) => name)
const positions = async () => (await server.query('SELECT count(*)::int FROM positions'))[0]?.['count']

test('a name is deleted with the last position of its walker', async () => {
  await keep(1, 1, 3 * DAY_MS)
  await keep(2, 1, 3 * DAY_MS)
  await keep(2, 2, DAY_MS / 2)
  await cleanUp(database.reader, store, 1)
  assert.deepEqual([await names(), await positions()], [['Walker 2'], 1])
})

test('old names without positions are deleted in any number', async () => {
  await server.query(`INSERT INTO walkers SELECT gen_random_uuid(), 'long gone' FROM generate_series(1, 2500)`)
  await keep(1, 1, 0)
  await cleanUp(database.reader, store, 1)
  assert.deepEqual(await names(), ['Walker 1'])
})

test('a walker who comes back after the clean-up has a name again', async () => {
  await keep(1, 1, 3 * DAY_MS)
  await cleanUp(database.reader, store, 1)
  assert.deepEqual(await names(), [])
  await keep(1, 2, 0)
  assert.deepEqual(await names(), ['Walker 1'])
})

test('a walker who comes back during the clean-up keeps their name', async () => {
  for (let round = 0; round < 10; round++) {
    await keep(1, 2 * round + 1, 3 * DAY_MS)
    await server.query('DELETE FROM positions')
    // The walker was found to be idle, and returns before, while or after their name is deleted.
    const walks = keep(1, 2 * round + 2, 0)
    const late = new Promise(resolve => setTimeout(resolve, 15 + round))
    await Promise.all([walks, late.then(() => store.forgetNames([idOf(1)]))])
    assert.deepEqual(await names(), ['Walker 1'])
  }
})

test('forget() also removes a report that still waits to be stored', async () => {
  const kept = keep(1, 1, 0)
  await Promise.all([kept, store.forget(idOf(1))])
  assert.deepEqual([await names(), await positions()], [[], 0])
  await keep(1, 2, 0)
  assert.deepEqual(await names(), ['Walker 1'])
})
