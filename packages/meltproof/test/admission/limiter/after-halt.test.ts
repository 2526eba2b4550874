import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AfterHalt } from '../../../src/admission/limiter/after-halt.ts'

/** Answers per ms before the halt, and the time of each, ms. Requests are watched for 1040 ms. */
const RATE = 0.2
const ALONE_MS = 20
const LIMIT = 20

function halted(): AfterHalt {
  const after = new AfterHalt(1000)
  after.begin(0, RATE, RATE, ALONE_MS, 0)
  return after
}

test('while the requests of the halt stay and no later one leaves, nothing is known', () => {
  const after = halted()
  for (const nowMs of [0, 1040, 60_000]) assert.equal(after.judge(nowMs, LIMIT + 1, LIMIT, 0), undefined)
})

test('requests of the halt that never leave do not matter if later ones leave as before', () => {
  const after = halted()
  assert.equal(after.judge(1040, 500, LIMIT, 52), 'as before')
})

test('once the requests of the halt have left, a second and two service times show whether later ones leave as before', () => {
  for (const [count, found] of [
    [51, 'slower'],
    [52, 'as before'],
  ] as const) {
    const after = halted()
    // Answered before the requests of the halt had left.
    const before = 500
    assert.equal(after.judge(5000, LIMIT, LIMIT, before), undefined)
    assert.equal(after.judge(6039, 0, LIMIT, before + count), undefined)
    assert.equal(after.judge(6040, 0, LIMIT, before + count), found, `${count} of 208`)
    assert.equal(after.judge(60_000, 0, LIMIT, 1000), found, 'the limit may change later for another reason')
  }
})

test('a second halt is judged by itself', () => {
  const after = halted()
  after.judge(0, 0, LIMIT, 0)
  assert.equal(after.judge(1040, 0, LIMIT, 0), 'slower')
  after.begin(5000, RATE, RATE, ALONE_MS, 0)
  assert.equal(after.judge(60_000, 100, LIMIT, 0), undefined)
})

test('requests of the halt that return at once waited for nothing scarce; those of a pool leave at its rate', () => {
  const HALTED = 400
  // No request leaves before 4000 ms. At RATE, half of the requests would take 1000 ms to leave.
  for (const [tookMs, expected] of [
    [240, true],
    [260, false],
  ] as const) {
    const after = halted()
    assert.equal(after.returnedAtOnce(4000, 0, HALTED), false)
    assert.equal(after.returnedAtOnce(4000 + tookMs / 2, HALTED / 4, HALTED), false)
    assert.equal(after.returnedAtOnce(4000 + tookMs, HALTED / 2, HALTED), expected, `${tookMs} ms`)
  }
})
