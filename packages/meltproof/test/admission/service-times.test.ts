/** Which kinds are known to leave quickly. They may exceed a limit that other requests fill. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Serving, ServiceTimes } from '../../src/admission/in-service/service-times.ts'

const KIND = 7

function service() {
  const times = new ServiceTimes<Serving>()
  let nowMs = 0
  const start = (): Serving => {
    const request = { startedAt: nowMs, servingSince: nowMs, serviceBucket: 0, answeredThen: 0 }
    times.started(request, KIND)
    return request
  }
  const answer = (ms: number): void => {
    const request = start()
    nowMs += ms
    times.answered(request, nowMs)
  }
  return { times, start, answer, isQuick: () => times.quickMs(KIND) !== Number.POSITIVE_INFINITY }
}

describe('a kind is quick', () => {
  it('after sixteen quick answers, with fewer than sixteen in service', () => {
    const { answer, isQuick, start } = service()
    for (let i = 0; i < 15; i++) answer(2)
    assert.equal(isQuick(), false)
    answer(2)
    assert.equal(isQuick(), true)
    for (let i = 0; i < 16; i++) start()
    assert.equal(isQuick(), false)
  })

  it('even if one answer in a hundred takes 60 ms', () => {
    const { answer, isQuick } = service()
    let quick = 0
    for (let i = 1; i <= 2000; i++) {
      answer(i % 100 === 0 ? 60 : 2)
      if (isQuick()) quick++
    }
    assert.ok(quick > 1200, `after ${quick} of 2000 answers`)
  })

  it('even if one answer in forty takes 45 ms, as the scheduler may cause, but not if one in ten does', () => {
    const quickOf = (every: number): number => {
      const { answer, isQuick } = service()
      for (let i = 1; i <= 400; i++) answer(i % every === 0 ? 45 : 1)
      let quick = 0
      for (let i = 1; i <= 400; i++) {
        if (isQuick()) quick++
        answer(i % every === 0 ? 45 : 1)
      }
      return quick
    }
    const [seldom, often] = [quickOf(40), quickOf(10)]
    assert.ok(seldom > 200, `${seldom} of 400`)
    assert.equal(often, 0)
  })

  it('even right after a single answer of 45 ms', () => {
    const { answer, isQuick } = service()
    for (let i = 0; i < 100; i++) answer(0.3)
    answer(45)
    assert.equal(isQuick(), true)
  })

  it('not if one answer in forty takes 500 ms', () => {
    const { answer, isQuick } = service()
    for (let i = 1; i <= 400; i++) answer(i % 40 === 0 ? 500 : 2)
    let passed = 0
    for (let i = 1; i <= 4000; i++) {
      if (i % 40 === 0 && isQuick()) passed++
      answer(i % 40 === 0 ? 500 : 2)
    }
    assert.ok(passed <= 10, `${passed} of 100 slow ones`)
  })
})
