import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionsFor, offer, probe, type Target } from '../../src/melt/load-plans.ts'
import { checkOptions, nameOf, parseMultiples, type RawMeltOptions, slug } from '../../src/melt/options.ts'
import { lengthMs } from '../../src/melt/recovery.ts'
import { parseCoreList, pinned } from '../../src/launch/core-pinning.ts'
import { lastLines } from '../../src/launch/command.ts'

const raw: RawMeltOptions = {
  slo: '1s',
  rounds: '1',
  startTimeout: '10s',
  spacing: 'even',
  also: [],
  method: 'get',
  header: [],
  out: 'runs',
}
const check = (more: Partial<RawMeltOptions>, command = ['node', 'server.js']) =>
  checkOptions({ ...raw, ...more }, command)

test('checkOptions() has defaults, and --quick shortens the run', () => {
  const full = check({})
  assert.deepEqual([full.multiples, full.durationMs, full.timeoutMs], [[0.5, 1, 2, 6, 10], 10_000, 5000])
  const quick = check({ quick: true, duration: '4s' })
  assert.deepEqual([quick.multiples, quick.durationMs, quick.timeoutMs], [[0.5, 2, 6], 4000, 2000])
  assert.equal(full.method, 'GET')
  // Only the melt command sets it; scenarios leave it undefined.
  assert.equal(full.recovery, undefined)
  assert.equal(check({ recovery: false }).recovery, undefined)
  const lasts = (more: Partial<RawMeltOptions>): number => lengthMs(check({ ...more, recovery: true }).recovery!)
  assert.deepEqual([lasts({}), lasts({ quick: true })], [23_000, 11_000])
})

test('a command in one word is split, and its name comes from the script', () => {
  assert.deepEqual(check({}, ['npm run start']).command, ['npm', 'run', 'start'])
  assert.equal(check({}, ['npm run start']).name, 'npm-run-start')
  assert.equal(nameOf(['node', '--enable-source-maps', 'dist/src/server.mjs', '--port', '1']), 'server')
  assert.equal(slug('../../etc passwd'), 'etc-passwd')
  assert.equal(slug('//'), 'app')
})

test('the path comes from --path, or else from --url', () => {
  assert.equal(check({ url: 'http://127.0.0.1:3000/a?b=c' }).path, '/a?b=c')
  assert.equal(check({ url: 'http://127.0.0.1:3000/a', path: '/d' }).path, '/d')
  assert.equal(check({}).path, '/')
})

for (const [what, more, words] of [
  ['a duration without a unit', { duration: '10' }, /needs a unit/],
  ['a duration too short for a window', { duration: '1s' }, /at least 2s/],
  ['a timeout below the SLO', { timeout: '500ms' }, /not be shorter/],
  ['invalid multiples', { at: '1,x' }, /--at/],
  ['a multiple of zero', { at: '0,1' }, /--at/],
  ['a fractional number of rounds', { rounds: '1.5' }, /--rounds/],
  ['a header without a colon', { header: ['accept'] }, /--header/],
  ['a path without a slash', { path: 'a' }, /--path/],
  ['a path that is not a valid URL', { path: '//' }, /--path/],
  ['a path that is another host', { path: '//example.org/' }, /--path/],
  ['a path that is another host by a backslash', { path: '/\\example.org/' }, /--path/],
  ['an invalid method', { method: 'GET X' }, /--method/],
  ['a start timeout longer than a timer can wait', { startTimeout: '9999h' }, /--start-timeout must be at most/],
  ['a url without a scheme', { url: 'localhost:3000' }, /--url/],
  ['an unknown spacing', { spacing: 'odd' }, /--spacing/],
  ['--fresh with --connections', { fresh: true, connections: '10' }, /--fresh/],
] as const) {
  test(`checkOptions() refuses ${what} in one sentence`, () => {
    assert.throws(
      () => check(more),
      (error: Error) => error.name === 'UserError' && words.test(error.message),
    )
  })
}

test('multiples are sorted and unique, with or without the x', () => {
  assert.deepEqual(parseMultiples('10x, 1,0.5,1'), [0.5, 1, 10])
})

const target: Target = {
  url: 'http://127.0.0.1:1/',
  method: 'GET',
  headers: {},
  body: undefined,
  timeoutMs: 3000,
  sloMs: 1000,
  fresh: false,
  connections: undefined,
  spacing: 'even',
}

test('the number of connections follows the rate, from 200 to 1,500, and may grow to 8,000', () => {
  assert.deepEqual(connectionsFor(target, 50), { kind: 'keep-alive', count: 200, max: 200 })
  assert.deepEqual(connectionsFor(target, 1000), { kind: 'keep-alive', count: 1000, max: 3000 })
  assert.deepEqual(connectionsFor(target, 1950), { kind: 'keep-alive', count: 1500, max: 5850 })
  assert.deepEqual(connectionsFor(target, 100_000), { kind: 'keep-alive', count: 1500, max: 8000 })
  assert.deepEqual(connectionsFor({ ...target, connections: 10 }, 100), { kind: 'keep-alive', count: 10, max: 300 })
  assert.deepEqual(connectionsFor({ ...target, fresh: true }, 100), { kind: 'fresh' })
})

test('every arm gets the same arrivals, and a probe has one connection per user', () => {
  assert.deepEqual(offer(target, 100, 5000), offer(target, 100, 5000))
  assert.deepEqual(probe(target, 4, 1000).connections, { kind: 'keep-alive', count: 4, max: 4 })
})

test('a core list is parsed, and a command is pinned with taskset', () => {
  assert.deepEqual(parseCoreList("pid 12's current affinity list: 0,2-4\n"), [0, 2, 3, 4])
  assert.deepEqual(pinned(['node', 'a'], 1), ['taskset', '-c', '1', 'node', 'a'])
  assert.deepEqual(pinned(['node', 'a'], undefined), ['node', 'a'])
})

test('lastLines() leaves out stack frames', () => {
  assert.equal(lastLines('a\nError: no\n    at f (x.js:1:1)\n    at g\n\nNode.js v24\n', 2), 'Error: no\nNode.js v24')
})
