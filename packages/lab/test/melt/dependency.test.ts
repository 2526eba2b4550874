/** dependencyOf() finds the address of a dependency in an environment variable, and refuses invalid addresses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dependencyOf } from '../../src/melt/dependency.ts'

const moved = (value: string) => {
  const { variable, host, port, valueFor } = dependencyOf('DB', { DB: value })
  return [variable, host, port, valueFor(5000)]
}

test('a URL keeps all but its address', () => {
  assert.deepEqual(moved('postgres://me:p%40ss@db.local:6000/app?sslmode=disable#x'), [
    ...['DB', 'db.local', 6000],
    'postgres://me:p%40ss@127.0.0.1:5000/app?sslmode=disable#x',
  ])
  assert.deepEqual(moved('redis://[::1]:6379/0'), ['DB', '::1', 6379, 'redis://127.0.0.1:5000/0'])
  assert.deepEqual(moved('http://api.local'), ['DB', 'api.local', 80, 'http://127.0.0.1:5000'])
  assert.deepEqual(moved('POSTGRESQL://db/app'), ['DB', 'db', 5432, 'POSTGRESQL://127.0.0.1:5000/app'])
})

test('host:port is an address, and a value may be given instead of a set variable', () => {
  assert.deepEqual(moved('db.local:5432'), ['DB', 'db.local', 5432, '127.0.0.1:5000'])
  const { variable, host, port } = dependencyOf('CACHE=cache.local:1', { CACHE: 'other:2' })
  assert.deepEqual([variable, host, port], ['CACHE', 'cache.local', 1])
})

for (const [text, says] of [
  ['', /--dependency must be a variable with the address of a dependency, such as DATABASE_URL=/],
  ['127.0.0.1:5432', /--dependency must be a variable/],
  ['NONE', /--dependency NONE: NONE is not set/],
  ['DB=', /--dependency DB: DB is not set/],
  ['DB=db.local', /its value must be one URL with a host, or host:port/],
  ['DB=other://db.local/app', /its value must be one URL with a host, or host:port/],
  ['DB=mongodb://one:1,two:2/app', /its value must be one URL with a host, or host:port/],
  ['DB=mongodb://me:secret@one:1,two:2/app', /its value must be one URL/],
  ['DB=postgres://me:se@cret@db:1/app', /its value must be one URL/],
  ['postgres://me:secret@db/app', /--dependency must be a variable/],
  ['DB=db.local:70000', /its value must be one URL with a host, or host:port/],
  ['DB=/var/run/postgresql', /its value must be one URL with a host, or host:port/],
  ['DB=rediss://db.local', /rediss uses TLS, which the relay cannot pass on/],
  ['DB=https://db.local', /https uses TLS/],
] as const) {
  test(`'${text}' is refused`, () => {
    assert.throws(() => dependencyOf(text, {}), says)
    assert.throws(
      () => dependencyOf(text, {}),
      (error: Error) => !error.message.includes('cret'),
    )
  })
}
