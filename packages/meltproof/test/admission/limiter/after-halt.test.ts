import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AfterHalt } from '../../../src/admission/limiter/after-halt.ts'

/** Answers per ms before the halt, and how long each took, ms: requests are watched for 1040 ms. */
const RATE = 0.2
const ALONE_MS = 20
const LIMIT = 20

function halted(promiseMs = 1000): AfterHalt {
  const after = new AfterHalt(promiseMs)
  after.begin(0, RATE, ALONE_MS)
  return after
}
const answers = (after: AfterHalt, count: number): void => {
  for (let i = 0; i < count; i++) after.answered()
}

test('while the requests of the halt stay and no later one leaves, nothing is known', () => {
  const after = halted()
  for (const nowMs of [0, 1040, 60_000]) assert.equal(after.judge(nowMs, LIMIT + 1, LIMIT), undefined)
})

test('requests of the halt that never leave do not matter if later ones leave as before', () => {
  const after = halted()
  answers(after, 52)
  assert.equal(after.judge(1040, 500, LIMIT), 'as before')
})

test('once the requests of the halt have left, a second and two service times show whether later ones leave as before', () => {
  for (const [count, found] of [
    [51, 'slower'],
    [52, 'as before'],
  ] as const) {
    const after = halted()
    answers(after, 500) // before they had left
    assert.equal(after.judge(5000, LIMIT, LIMIT), undefined)
    answers(after, count)
    assert.equal(after.judge(6039, 0, LIMIT), undefined)
    assert.equal(after.judge(6040, 0, LIMIT), found, `${count} of 208`)
    answers(after, 500)
    assert.equal(after.judge(60_000, 0, LIMIT), found, 'the limit may change later for another reason')
  }
})

test('a second halt is judged by itself', () => {
  const after = halted()
  after.judge(0, 0, LIMIT)
  assert.equal(after.judge(1040, 0, LIMIT), 'slower')
  after.begin(5000, RATE, ALONE_MS)
  assert.equal(after.judge(60_000, 100, LIMIT), undefined)
})
