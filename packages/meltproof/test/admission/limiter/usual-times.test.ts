/** Whether requests take as long on a busy loop as they did while it was idle. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Answered } from '../../../src/admission/limiter/answers.ts'
import { UsualTimes } from '../../../src/admission/limiter/usual-times.ts'
import { LIMITER_TUNING } from '../../../src/admission/limiter/tuning.ts'

const { busyForMs, loopWorkMs, promiseMs, samples } = LIMITER_TUNING

class Service extends UsualTimes {
  readonly #answered: Answered

  constructor(answered = new Answered()) {
    super(LIMITER_TUNING, answered)
    this.#answered = answered
  }

  answer(tookMs: number, count = 4): void {
    for (let i = 0; i < count; i++) this.#answered.add(tookMs)
  }
}

/** `count` requests were answered while the loop was idle. It became busy at 0 ms. */
function usually(tookMs: number, count: number = samples): Service {
  const times = new Service()
  times.begin(-1000)
  times.answer(tookMs, count)
  times.rested(-20)
  times.begin(0)
  return times
}

describe('UsualTimes', () => {
  it('hold after four answers of usual time, until four later ones take longer', () => {
    const times = usually(80)
    times.answer(2 * 80 + loopWorkMs)
    assert.equal(times.compare(busyForMs, 100), true)
    times.answer(2 * 80 + loopWorkMs + 1)
    assert.equal(times.compare(2 * busyForMs - 1, 100), true, 'they are compared every 100 ms')
    assert.equal(times.compare(2 * busyForMs, 100), false)
    assert.equal(times.areUsual, false)
  })

  it('do not hold if the loop never rested, or if few requests were answered while it did', () => {
    for (const times of [new Service(), usually(80, samples - 1)]) {
      times.answer(1)
      assert.equal(times.compare(busyForMs, 100), false)
    }
  })

  it('do not hold with fewer than four answers', () => {
    const times = usually(80)
    times.answer(80, 3)
    assert.equal(times.compare(busyForMs, 100), false)
  })

  it('no longer hold if none of at least four requests is answered within the longest usual time', () => {
    for (const [inService, expected] of [
      [3, true],
      [4, false],
    ] as const) {
      const times = usually(80)
      times.answer(80)
      times.compare(busyForMs, inService)
      assert.equal(times.compare(busyForMs + 2 * 80 + loopWorkMs, inService), true)
      assert.equal(times.compare(busyForMs + 2 * 80 + loopWorkMs + 1, inService), expected)
    }
  })

  it('allow only 50 ms more if twice the usual time exceeds the promise of one second', () => {
    for (const [tookMs, expected] of [
      [900 + loopWorkMs, true],
      [900 + loopWorkMs + 1, false],
    ] as const) {
      const times = usually(900)
      times.answer(tookMs)
      assert.equal(times.compare(busyForMs, 100), expected)
    }
    assert.ok(2 * 900 > promiseMs)
  })

  it('are exceeded if the mean of many answers is, even if slow answers take no longer', () => {
    const mixed = (quickMs: number): UsualTimes => {
      const times = new Service()
      times.begin(-1000)
      times.answer(400, 3)
      times.answer(5, 97)
      times.rested(-20)
      times.begin(0)
      times.answer(400, 3)
      times.answer(quickMs, 97)
      return times
    }
    assert.equal(mixed(20).compare(busyForMs, 100), true)
    assert.equal(mixed(90).compare(busyForMs, 100), false)
  })

  it('are compared anew after each rest of the loop', () => {
    const times = usually(80)
    times.answer(80)
    assert.equal(times.compare(busyForMs, 100), true)
    times.begin(200)
    times.rested(220)
    assert.equal(times.areUsual, false)
  })
})
