import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { DeferredRecords } from '../../src/observe/deferred-records.ts'
import { fakeTimers } from '../fake-timers.ts'

test('deferred values are recorded in the right bucket, a thousand at a time', t => {
  t.after(fakeTimers('setTimeout'))
  const [some, others]: [number[], number[]] = [[], []]
  const takeSome = (value: number): number => some.push(value)
  const takeOthers = (value: number): number => others.push(value)
  const deferred = new DeferredRecords()
  deferred.defer(takeSome, 0, 2500)
  deferred.defer(takeSome, 0.2, 100)
  deferred.defer(takeSome, 0.24, 100)
  deferred.defer(takeOthers, 3, 10)
  assert.equal(some.length, 0)
  mock.timers.tick(100)
  assert.equal(some.length + others.length, 1000)
  mock.timers.tick(100)
  assert.equal(some.length + others.length, 2000)
  mock.timers.tick(100)
  assert.equal(some.length + others.length, 2710)
  assert.equal(some.filter(value => value > 0.1 && value <= 0.25).length, 200)
  assert.ok(Math.abs(some.reduce((sum, value) => sum + value, 0) - 44) < 0.001)
  deferred.defer(takeOthers, 3, 5000)
  deferred.end()
  assert.equal(others.length, 5010)
})
