/** Answers are weighted by the time that they took. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Answered, Answers } from '../../../src/admission/limiter/answers.ts'

function answersOf(...timesMs: readonly number[]): Answers {
  const answered = new Answered()
  const answers = new Answers(answered)
  for (const ms of timesMs) answered.add(ms)
  return answers
}

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) <= 1e-9 * expected, `${actual}, expected ${expected}`)

test('answers that take equally long count as one each', () => {
  for (const ms of [0.1, 50, 20_000]) {
    const answers = answersOf(...new Array<number>(30).fill(ms))
    assert.equal(answers.all, 30)
    near(answers.count, 30)
    near(answers.meanMs, ms)
    near(answers.heavyMs, ms)
  }
})

test('next to one slow answer, a hundred quick ones count almost nothing', () => {
  const answers = answersOf(...new Array<number>(100).fill(1), 2000)
  assert.equal(answers.all, 101)
  assert.ok(answers.count < 1.2, `${answers.count}`)
  assert.ok(answers.heavyMs > 1800, `${answers.heavyMs} ms`)
})

test('property: n answers count as 1 to n, whatever their times and scale', () => {
  const times = fc.array(fc.double({ min: 0.01, max: 20_000, noNaN: true }), {
    minLength: 1,
    maxLength: 50,
    size: 'max',
  })
  fc.assert(
    fc.property(times, fc.constantFrom(0.01, 7, 1000), (timesMs, factor) => {
      const answers = answersOf(...timesMs)
      const [least, most] = [1 - 1e-9, 1 + 1e-9]
      assert.ok(answers.count >= least && answers.count <= timesMs.length * most, `${answers.count}`)
      assert.ok(answers.heavyMs >= answers.meanMs * least && answers.heavyMs <= Math.max(...timesMs) * most)
      near(answersOf(...timesMs.map(ms => ms * factor)).count, answers.count)
      near(answersOf(...timesMs.toReversed()).heavyMs, answers.heavyMs)
    }),
  )
})

test('no answers, and answers that took no time, count as 0', () => {
  for (const answers of [answersOf(), answersOf(0, 0)]) {
    assert.deepEqual([answers.count, answers.meanMs, answers.heavyMs], [0, 0, 0])
  }
})

test('property: after restart(), and in answers created later, earlier answers do not count', () => {
  const times = fc.array(fc.integer({ min: 1, max: 1000 }))
  fc.assert(
    fc.property(times, times, (early, late) => {
      const answered = new Answered()
      const restarted = new Answers(answered)
      for (const ms of early) answered.add(ms)
      restarted.restart()
      const later = new Answers(answered)
      for (const ms of late) answered.add(ms)
      const expected = answersOf(...late)
      for (const answers of [restarted, later]) {
        assert.equal(answers.all, late.length)
        near(answers.count, expected.count)
        near(answers.meanMs, expected.meanMs)
        near(answers.heavyMs, expected.heavyMs)
      }
    }),
  )
})

test('answers of 0.1 ms are counted exactly after three years of 1,000 answers a second that took a second', () => {
  const answered = new Answered()
  const inThreeYears = 1000 * 3 * 365 * 24 * 3600
  answered.all = inThreeYears
  answered.ms = 1000 * inThreeYears
  answered.squares = 1e6 * inThreeYears
  const answers = new Answers(answered)
  for (let i = 0; i < 1000; i++) answered.add(0.1)
  near(answers.count, 1000)
  near(answers.heavyMs, 0.1)
})
