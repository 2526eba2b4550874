/**
 * Trials of four times the limit of a busy loop: which results show that more requests leave, and when a trial is
 * repeated.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Answered } from '../../../src/admission/limiter/answers.ts'
import { LoopTrial, TRIAL } from '../../../src/admission/limiter/loop-trial.ts'

const PAUSE_MS = 16_000
const SERVICE_MS = 100

/** A limit of one, under which each request takes 100 ms. Under the limit before, ten times as many left per second. */
function atOne() {
  let nowMs = 0
  const answered = new Answered()
  const trial = new LoopTrial(PAUSE_MS, answered)
  const under = (perSecond: number, serviceMs: number, ms: number): void => {
    for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
      nowMs += 1000 / perSecond
      answered.add(serviceMs)
    }
  }
  const begins = (serviceMs = 0): void => trial.begin(nowMs, serviceMs)
  begins()
  under(100, SERVICE_MS, 1000)
  begins(SERVICE_MS)
  const measure = (perSecond = 10, serviceMs = SERVICE_MS): boolean => {
    // During the first service time, requests of the earlier limit still leave.
    under(perSecond, serviceMs, SERVICE_MS)
    trial.starts(nowMs, 1)
    under(perSecond, serviceMs, 5 * SERVICE_MS)
    return trial.starts(nowMs, 1)
  }
  const outcome = (perSecond: number, serviceMs: number, { counted = TRIAL, waits = true } = {}) => {
    begins()
    trial.judge(nowMs, counted, waits)
    under(perSecond, serviceMs, 8 * SERVICE_MS)
    return trial.judge(nowMs, counted, waits)
  }
  return { trial, measure, outcome, under, begins, now: () => nowMs }
}

describe('a trial', () => {
  it('starts if fewer requests leave than under an earlier, higher limit', () => {
    const { measure, trial } = atOne()
    assert.equal(measure(), true)
    assert.equal(trial.isOn, true)
    assert.equal(trial.end(), 1)
    assert.equal(trial.isOn, false)
  })

  it('does not start if about as many requests leave', () => {
    assert.equal(atOne().measure(80, 12), false)
  })

  it('does not start before the requests admitted under the higher limit have left', () => {
    const { trial, under, now } = atOne()
    under(100, SERVICE_MS, SERVICE_MS - 10)
    assert.equal(trial.starts(now(), 1), false)
  })

  it('succeeds if four times as many requests leave, and take no longer', () => {
    const { measure, outcome } = atOne()
    measure()
    assert.equal(outcome(40, SERVICE_MS), true)
  })

  it('fails if no more requests leave than before, or if they take far longer', () => {
    for (const [perSecond, serviceMs] of [
      [10, 150],
      [40, 250],
    ] as const) {
      const { measure, outcome } = atOne()
      measure()
      assert.equal(outcome(perSecond, serviceMs), false)
    }
  })

  it('succeeds when no request waits, unless the higher limit is reached', () => {
    for (const [counted, succeeds] of [
      [1, true],
      [TRIAL, false],
    ] as const) {
      const { measure, outcome } = atOne()
      measure()
      assert.equal(outcome(12, SERVICE_MS, { counted, waits: false }), succeeds)
    }
  })

  it('lasts at least half a second, and three service times, even if many quick answers arrive earlier', () => {
    for (const [serviceMs, leastMs] of [
      [SERVICE_MS, 500],
      [4 * SERVICE_MS, 1200],
    ] as const) {
      const { measure, trial, under, begins, now } = atOne()
      while (!measure(1000 / serviceMs, serviceMs));
      begins()
      trial.judge(now(), TRIAL, true)
      under(400, 2, leastMs - 10)
      assert.equal(trial.judge(now(), TRIAL, true), undefined, `${serviceMs} ms`)
      under(400, 2, 20)
      assert.notEqual(trial.judge(now(), TRIAL, true), undefined, `${serviceMs} ms`)
    }
  })

  it('that failed is repeated after 16 s, then after 32 s', () => {
    const { measure, outcome, trial, under, begins } = atOne()
    under(100, SERVICE_MS, 1000)
    begins(SERVICE_MS)
    for (const pauseMs of [PAUSE_MS, 2 * PAUSE_MS]) {
      measure()
      assert.equal(outcome(10, SERVICE_MS), false)
      trial.end()
      under(100, SERVICE_MS, pauseMs - 2000)
      begins(SERVICE_MS)
      assert.equal(measure(), false, `within ${pauseMs} ms`)
      trial.end()
      under(100, SERVICE_MS, 2000)
      begins(SERVICE_MS)
      assert.equal(measure(), true, `after ${pauseMs} ms`)
    }
  })
})
