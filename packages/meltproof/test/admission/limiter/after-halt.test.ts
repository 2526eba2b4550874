import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AfterHalt } from '../../../src/admission/limiter/after-halt.ts'

/** Answers per ms before the halt. */
const RATE = 0.2

function halted(inService = 100): AfterHalt {
  const after = new AfterHalt(1000)
  after.begin(inService)
  return after
}
const answers = (after: AfterHalt, count: number): void => {
  for (let i = 0; i < count; i++) after.answered()
}

test('while the requests of the halt stay, nothing is known', () => {
  const after = halted()
  assert.deepEqual([after.judge(0, 0, RATE), after.judge(60_000, 49, RATE)], [undefined, undefined])
})

test('once half of them have left, a second shows whether later requests leave as before', () => {
  for (const [count, found] of [
    [49, 'slower'],
    [50, 'as before'],
  ] as const) {
    const after = halted()
    answers(after, 500) // before anything is judged
    assert.equal(after.judge(5000, 50, RATE), undefined)
    answers(after, count)
    assert.equal(after.judge(5999, 100, RATE), undefined)
    assert.equal(after.judge(6000, 100, RATE), found, `${count} of 200`)
  }
})

test('a second halt is judged by itself', () => {
  const after = halted()
  after.judge(0, 100, RATE)
  after.begin(100)
  assert.equal(after.judge(5000, 0, RATE), undefined)
})
