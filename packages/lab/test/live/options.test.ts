/** The options of `meltlab live`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shouldOpen } from '../../src/live/open-browser.ts'
import { checkLiveOptions, defaults, type RawLiveOptions } from '../../src/live/options.ts'

const given = (more: Partial<RawLiveOptions> = {}): RawLiveOptions => ({
  ...{ slo: '1s', startTimeout: '10s', method: 'GET', header: [], out: 'runs', open: true },
  ...defaults,
  ...more,
})
const check = (more: Partial<RawLiveOptions>, command = ['node', 'server.js']) => checkLiveOptions(given(more), command)

test('the capacity is searched for unless given, and the run lasts an hour unless --for is given', () => {
  const { capacity, longestMs, melt } = check({})
  assert.deepEqual([capacity, longestMs, melt.timeoutMs, melt.name], [undefined, 3_600_000, 2000, 'server'])
  assert.equal(check({ capacity: '190.5' }).capacity, 190.5)
  assert.equal(check({ for: '30s' }).longestMs, 30_000)
})

test('invalid options are refused with an error that names the option', () => {
  assert.throws(() => check({}, []), /a command is needed: meltlab live \[options\] -- node server\.js/)
  assert.throws(() => check({ capacity: '0' }), /--capacity must be a number from 1 to 1000000, got "0"/)
  assert.throws(() => check({ capacity: 'many' }), /--capacity must be a number/)
  assert.throws(() => check({ for: '10' }), /--for needs a unit/)
  assert.throws(() => check({ timeout: '500ms' }), /--timeout \(0\.5s\) must not be shorter than --slo \(1s\)/)
  assert.throws(() => check({ path: 'x' }), /--path must start with a slash/)
})

test('a browser is opened only on a terminal, outside CI, and unless switched off', () => {
  assert.equal(shouldOpen({ wanted: true, isTerminal: true, ci: undefined }), true)
  assert.equal(shouldOpen({ wanted: true, isTerminal: true, ci: 'false' }), true)
  assert.equal(shouldOpen({ wanted: false, isTerminal: true, ci: undefined }), false)
  assert.equal(shouldOpen({ wanted: true, isTerminal: false, ci: undefined }), false)
  assert.equal(shouldOpen({ wanted: true, isTerminal: true, ci: 'true' }), false)
})
