/** Throughput under one limit. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Answered } from '../../../src/admission/limiter/answers.ts'
import { Measurement } from '../../../src/admission/limiter/measurement.ts'
import { LIMITER_TUNING } from '../../../src/admission/limiter/tuning.ts'

const { leastWindowMs, maxWindowMs, samples } = LIMITER_TUNING

interface Load {
  readonly waits?: boolean
  readonly serviceMs?: number
}

function measurement() {
  let nowMs = 0
  const answered = new Answered()
  const measured = new Measurement(LIMITER_TUNING, answered)
  return {
    measured,
    begin: () => measured.begin(nowMs),
    /** A request is answered every `everyMs` for `ms`. */
    answer(ms: number, everyMs: number, { waits = true, serviceMs = 50 }: Load = {}): void {
      for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
        nowMs++
        measured.pass(nowMs, waits)
        if (nowMs % everyMs === 0) answered.add(serviceMs)
      }
    },
  }
}

const NEVER = Number.POSITIVE_INFINITY

describe('a measurement', () => {
  it('has the number of answers per millisecond, and their service time', () => {
    const { measured, answer } = measurement()
    answer(500, 5)
    assert.equal(measured.rate, 0.2)
    assert.equal(measured.heavyMs, 50)
  })

  it('without an answer has the rate of one answer in its whole time', () => {
    const { measured, answer } = measurement()
    answer(500, NEVER)
    assert.equal(measured.rate, 1 / 500)
  })

  it('isBound if requests waited for half of the time', () => {
    const { measured, answer } = measurement()
    answer(300, 5, { waits: false })
    answer(299, 5)
    assert.equal(measured.isBound, false)
    answer(1, 5)
    assert.equal(measured.isBound, true)
  })

  it('ignores everything before begin()', () => {
    const { measured, answer, begin } = measurement()
    answer(1000, 1, { serviceMs: 3000 })
    begin()
    answer(100, 10, { waits: false })
    assert.deepEqual([measured.rate, measured.heavyMs, measured.isBound], [0.1, 50, false])
  })
})

describe('a measurement suffices', () => {
  it('with two dozen answers', () => {
    const { measured, answer } = measurement()
    answer(10 * (samples - 1), 10)
    assert.equal(measured.suffices(50), false)
    answer(10, 10)
    assert.equal(measured.suffices(50), true)
  })

  it('not before a tenth of a second, however many answers there are', () => {
    const { measured, answer } = measurement()
    answer(leastWindowMs - 1, 1, { serviceMs: 1 })
    assert.equal(measured.suffices(1), false)
    answer(1, 1, { serviceMs: 1 })
    assert.equal(measured.suffices(1), true)
  })

  it('not before two expected or three actual service times have passed', () => {
    const { measured, answer } = measurement()
    answer(299, 1, { serviceMs: 100 })
    assert.equal(measured.suffices(100), false)
    answer(1, 1, { serviceMs: 100 })
    assert.equal(measured.suffices(100), true)
    assert.equal(measured.suffices(151), false)
  })

  it('with fewer answers after a second, or after four service times if these are longer', () => {
    const { measured, answer, begin } = measurement()
    answer(maxWindowMs - 1, 100)
    assert.equal(measured.suffices(50), false)
    answer(1, 100)
    assert.equal(measured.suffices(50), true)
    begin()
    answer(4 * maxWindowMs - 1, 500, { serviceMs: maxWindowMs })
    assert.equal(measured.suffices(50), false)
    answer(1, 500, { serviceMs: maxWindowMs })
    assert.equal(measured.suffices(50), true)
  })

  it('only with two dozen slow answers: quick answers among them do not count', () => {
    const { measured, answer } = measurement()
    for (let i = 0; i < samples - 2; i++) {
      answer(9, 1, { serviceMs: 0.1 })
      answer(1, 1, { serviceMs: 200 })
    }
    assert.equal(measured.suffices(50), false)
    for (let i = 0; i < 4; i++) {
      answer(9, 1, { serviceMs: 0.1 })
      answer(1, 1, { serviceMs: 200 })
    }
    assert.equal(measured.suffices(50), true)
  })
})
