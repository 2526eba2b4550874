/** Throughput under one limit. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Measurement } from '../../../sim/limiters/evidence/measurement.ts'
import { EVIDENCE_TUNING } from '../../../sim/limiters/evidence/tuning.ts'

const { leastWindowMs, maxWindowMs, samples } = EVIDENCE_TUNING

interface Load {
  readonly busy?: number
  readonly waits?: boolean
  readonly serviceMs?: number
}

function measurement() {
  const measured = new Measurement(EVIDENCE_TUNING)
  let [nowMs, busyMs] = [0, 0]
  return {
    measured,
    /** For `ms` an answer comes every `everyMs`. */
    answer(ms: number, everyMs: number, { busy = 0, waits = true, serviceMs = 50 }: Load = {}): void {
      for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
        nowMs++
        busyMs += busy
        measured.pass(nowMs, busyMs, waits)
        if (nowMs % everyMs === 0) measured.answered(serviceMs)
      }
    },
  }
}

const NEVER = Number.POSITIVE_INFINITY

describe('a measurement', () => {
  it('says how many are answered per millisecond, and what they take', () => {
    const { measured, answer } = measurement()
    answer(500, 5)
    assert.equal(measured.rate, 0.2)
    assert.equal(measured.heavyMs, 50)
  })

  it('without an answer says that less than one was answered', () => {
    const { measured, answer } = measurement()
    answer(500, NEVER)
    assert.equal(measured.rate, 1 / 500)
  })

  it('says how busy the loop was, and whether requests waited half of the time', () => {
    const { measured, answer } = measurement()
    answer(300, 5, { busy: 1, waits: false })
    answer(299, 5, { busy: 0, waits: true })
    assert.equal(measured.busy, 300 / 599)
    assert.equal(measured.isBound, false)
    answer(1, 5, { busy: 0, waits: true })
    assert.equal(measured.isBound, true)
  })

  it('knows nothing of what was before it began', () => {
    const { measured, answer } = measurement()
    answer(1000, 1, { busy: 1, serviceMs: 3000 })
    measured.begin()
    answer(100, 10, { waits: false })
    assert.deepEqual([measured.rate, measured.heavyMs, measured.busy, measured.isBound], [0.1, 50, 0, false])
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

  it('not before a tenth of a second, however many are answered', () => {
    const { measured, answer } = measurement()
    answer(leastWindowMs - 1, 1, { serviceMs: 1 })
    assert.equal(measured.suffices(1), false)
    answer(1, 1, { serviceMs: 1 })
    assert.equal(measured.suffices(1), true)
  })

  it('not before several volleys fit: two of what a request should take, three of what it takes', () => {
    const { measured, answer } = measurement()
    answer(299, 1, { serviceMs: 100 })
    assert.equal(measured.suffices(100), false)
    answer(1, 1, { serviceMs: 100 })
    assert.equal(measured.suffices(100), true)
    assert.equal(measured.suffices(151), false)
  })

  it('after a second with fewer answers, or four services where one is longer', () => {
    const { measured, answer } = measurement()
    answer(maxWindowMs - 1, 100)
    assert.equal(measured.suffices(50), false)
    answer(1, 100)
    assert.equal(measured.suffices(50), true)
    measured.begin()
    answer(4 * maxWindowMs - 1, 500, { serviceMs: maxWindowMs })
    assert.equal(measured.suffices(50), false)
    answer(1, 500, { serviceMs: maxWindowMs })
    assert.equal(measured.suffices(50), true)
  })

  it('after as many slow answers: quick ones among them do not count', () => {
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
