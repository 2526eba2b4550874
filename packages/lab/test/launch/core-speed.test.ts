import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { allowedCores } from '../../src/launch/core-pinning.ts'
import { meanSpeed, watchSpeed } from '../../src/launch/core-speed.ts'

test('the speed in an interval is the mean of its samples, and null without a sample', () => {
  const samples = [1, 2, 3, 4].map(speed => ({ atMs: 100 * speed, speed }))
  assert.equal(meanSpeed(samples, 200, 400), 2.5)
  assert.equal(meanSpeed(samples, 401, 900), null)
  assert.equal(meanSpeed([], 0, 900), null)
})

test('without a dedicated core there is no speed', () => {
  const watch = watchSpeed(undefined)
  assert.equal(watch.between(0, Number.POSITIVE_INFINITY), null)
  watch.stop()
})

const core = allowedCores().at(-1)

test('a core is measured until the watch is stopped', {
  skip: core === undefined && 'needs taskset',
  timeout: 30_000,
}, async t => {
  const watch = watchSpeed(core)
  t.after(() => watch.stop())
  const speed = (): number | null => watch.between(0, Number.POSITIVE_INFINITY)
  while (speed() === null) await sleep(20)
  assert.ok(speed()! > 10, `${speed()} hashes per ms`)
  watch.stop()
  await sleep(600)
  assert.equal(watch.between(performance.now() - 400, Number.POSITIVE_INFINITY), null)
})

test('a watch calls onLost when its process ends by itself, and not when it is stopped', {
  skip: core === undefined && 'needs taskset',
}, async () => {
  let lost = 0
  // No machine has this core, so taskset fails.
  const watch = watchSpeed(9999, () => lost++)
  while (lost === 0) await sleep(20)
  watch.stop()
  const stopped = watchSpeed(core, () => lost++)
  stopped.stop()
  await sleep(300)
  assert.equal(lost, 1)
})
