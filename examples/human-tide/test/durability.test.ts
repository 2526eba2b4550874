/** Acknowledged positions are in the database, whichever process is killed in between. */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../packages/lab/src/launch/free-port.ts'
import { connect } from '../src/database/connect.ts'
import { embeddedDatabase } from '../src/database/embedded.ts'
import { type TestDatabase, testDatabase } from './postgres.ts'
import { Phone, type Service, startService } from './service.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase()
})
after(() => database.end())

/** Phones walk during `meanwhile`, and until each has twenty more positions acknowledged afterwards. */
async function walking(
  service: Service,
  meanwhile: (phones: readonly Phone[]) => Promise<void>,
): Promise<readonly Phone[]> {
  const phones = Array.from({ length: 20 }, () => new Phone())
  const walks = phones.map(phone => phone.walk(service.origin))
  await eachAcknowledged(phones, 20)
  await meanwhile(phones)
  await eachAcknowledged(phones, 20)
  for (const phone of phones) phone.stop()
  await Promise.all(walks)
  return phones
}

async function eachAcknowledged(phones: readonly Phone[], more: number): Promise<void> {
  const before = phones.map(phone => phone.acknowledged.length)
  while (phones.some((phone, index) => phone.acknowledged.length < before[index]! + more)) await sleep(20)
}

async function nothingIsMissing(phones: readonly Phone[]): Promise<void> {
  for (const phone of phones) assert.deepEqual(await phone.missing(database.url), [])
}

test('no acknowledged position is lost when the service is killed with SIGKILL, twice', {
  timeout: 120_000,
}, async () => {
  const port = await freePort()
  let service = await startService(port, { DATABASE_URL: database.url })
  const phones = await walking(service, async () => {
    for (let time = 0; time < 2; time++) {
      await service.end('SIGKILL')
      await sleep(200)
      service = await startService(port, { DATABASE_URL: database.url })
      await sleep(500)
    }
  })
  await service.end()
  await nothingIsMissing(phones)
  assert.ok(
    phones.some(phone => phone.statuses.has('failed')),
    'some requests failed',
  )
})

test('no acknowledged position is lost when PostgreSQL crashes, and the service answers 503 meanwhile', {
  timeout: 120_000,
}, async () => {
  const service = await startService(await freePort(), { DATABASE_URL: database.url })
  const phones = await walking(service, async () => {
    await database.crash()
    await sleep(500)
    assert.equal((await fetch(`${service.origin}/`)).status, 200, 'pages are served without a database')
    await database.restart()
  })
  assert.equal(service.child.exitCode, null)
  await service.end()
  await nothingIsMissing(phones)
  assert.ok(phones.every(phone => [...phone.statuses.keys()].every(status => [200, 429, 503].includes(Number(status)))))
  assert.ok(
    phones.some(phone => phone.statuses.has(503)),
    'some requests were answered 503',
  )
})

test('without a database at the start, the service answers 503 with Retry-After until there is one', {
  timeout: 60_000,
}, async () => {
  const down = new URL(database.url)
  await database.crash()
  const service = await startService(await freePort(), { DATABASE_URL: down.href })
  const now = Date.now()
  const send = () =>
    fetch(`${service.origin}/api/positions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${'k'.repeat(32)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: '', sentAt: now, positions: [{ seq: 1, at: now, lat: 0, lon: 0, accuracy: 1 }] }),
    })
  const answer = await send()
  assert.equal(answer.status, 503)
  assert.match(answer.headers.get('retry-after')!, /^[1-3]$/)
  assert.equal(((await answer.json()) as { code: string }).code, 'database-down')
  assert.equal((await fetch(`${service.origin}/api/health`)).status, 503)
  await database.restart()
  while ((await send()).status !== 200) await sleep(250)
  while ((await fetch(`${service.origin}/api/health`)).status !== 200) await sleep(250)
  await service.end()
})

test('the embedded database survives a crash of the service, and is found again', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'human-tide-own-'))
  chmodSync(folder, 0o755)
  const first = await startService(await freePort(), { DATA_DIR: folder, DATABASE_URL: '' })
  const { pid } = await embeddedDatabase(folder)
  await first.end('SIGKILL')
  const second = await startService(await freePort(), { DATA_DIR: folder, DATABASE_URL: '' })
  assert.equal((await embeddedDatabase(folder)).pid, pid)
  await second.end('SIGTERM')
  assert.equal(second.child.exitCode, 0)
  assert.throws(() => process.kill(pid, 0), 'PostgreSQL ends with a service that shuts down')
  rmSync(folder, { recursive: true, force: true })
})

test('services that start at the same time on an empty database do not fail', async t => {
  await database.query('CREATE DATABASE crowd')
  const url = new URL(database.url)
  url.pathname = '/crowd'
  const said = t.mock.method(console, 'error', () => {})
  const services = Array.from({ length: 8 }, () => connect(url.href))
  await Promise.all(services.map(({ ready }) => ready))
  await Promise.all(services.map(service => service.close()))
  assert.equal(said.mock.callCount(), 0, `${said.mock.calls[0]?.arguments[0]}`)
})
