import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beyondChance, failedOf, lostOf, median, otherOf } from '../checks/fates.ts'
import type { Load } from '../load/load-maker.ts'

const load = (more: Partial<Load>): Load => ({
  scheduled: 100,
  unsent: 0,
  good: 100,
  goodput: 100,
  shed: 0,
  other: {},
  failed: {},
  okP50Ms: 1,
  okP99Ms: 2,
  doubts: [],
  ...more,
})

test('failures and unexpected statuses are counted', () => {
  assert.deepEqual([...failedOf(load({})), ...otherOf(load({}))], [])
  assert.deepEqual(failedOf(load({ failed: { reset: 2, refused: 1 } })), [
    '3 of 100 requests had no answer: reset 2, refused 1',
  ])
  assert.deepEqual(otherOf(load({ other: { 500: 4 } })), ['4 of 100 requests were answered 500 4'])
})

test('a refused connection does not count as a lost request', () => {
  assert.equal(lostOf(load({ failed: { reset: 2, 'response-timeout': 1, refused: 40 } })), 3)
})

test('a count is beyond chance only if it clearly exceeds the other', () => {
  assert.ok(!beyondChance(5, 0))
  assert.ok(!beyondChance(27, 20))
  assert.ok(!beyondChance(0, 90))
  assert.ok(beyondChance(17, 0))
  assert.ok(beyondChance(80, 30))
})

test('the median is one of the measured values', () => {
  assert.equal(median([300, 4, 5]), 5)
  assert.equal(median([7]), 7)
})
