/** The usual and the recent rate at which requests leave, per millisecond. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Answered } from '../../../src/admission/limiter/answers.ts'
import { UsualRate } from '../../../src/admission/limiter/usual-rate.ts'

/** The first window begins with the first answer, so it has one answer more. */
const WINDOW_MS = 1000

function service() {
  const answered = new Answered()
  const rates = new UsualRate(WINDOW_MS, answered)
  let nowMs = 0
  let began = false
  return {
    rates,
    answered,
    /** A request is answered every `everyMs` for `ms`. */
    answer(ms: number, everyMs: number, serviceMs = 50): void {
      for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
        if (began) nowMs += everyMs
        began = true
        answered.add(serviceMs)
        rates.update(nowMs)
      }
    },
    pass(ms: number): number {
      nowMs += ms
      return nowMs
    },
  }
}

const near = (actual: number, expected: number, by = 0.05): void =>
  assert.ok(Math.abs(actual - expected) <= by * expected, `${actual}/ms, expected ${expected}/ms`)

describe('the usual rate', () => {
  it('is not known before the first window has passed', () => {
    const { rates, answer } = service()
    answer(WINDOW_MS - 10, 5)
    assert.equal(rates.usual, 0)
    answer(10, 5)
    near(rates.usual, 0.2)
  })

  it('is measured from the first answer, however late it is', () => {
    const { rates, answer, pass } = service()
    pass(60_000)
    answer(WINDOW_MS, 5)
    near(rates.usual, 0.2)
  })

  it('is the recent peak: a slow window lowers it by a tenth', () => {
    const { rates, answer } = service()
    answer(WINDOW_MS, 2)
    near(rates.usual, 0.5)
    answer(WINDOW_MS, 50)
    near(rates.usual, 0.45)
    answer(WINDOW_MS, 50)
    near(rates.usual, 0.405)
    answer(WINDOW_MS, 1)
    near(rates.usual, 1)
    answer(60 * WINDOW_MS, 50)
    near(rates.usual, 0.02)
  })

  it('does not change while no request is answered', () => {
    const { rates, answer, pass } = service()
    answer(WINDOW_MS, 2)
    pass(60_000)
    near(rates.usual, 0.5)
  })

  it('is the rate of the slow answers among quick ones', () => {
    const { rates, answered } = service()
    for (let ms = 0; ms <= WINDOW_MS; ms++) {
      answered.add(ms % 10 === 0 ? 1000 : 1)
      rates.update(ms)
    }
    near(rates.usual, 0.1)
  })
})

describe('the recent rate', () => {
  it('is known before the first window has passed', () => {
    const { rates, answer, pass } = service()
    answer(100, 5)
    near(rates.lately(pass(0)), 0.2)
  })

  it('covers the last one to two windows', () => {
    const { rates, answer, pass } = service()
    answer(WINDOW_MS, 5)
    answer(WINDOW_MS / 2, 1)
    near(rates.lately(1.5 * WINDOW_MS), (200 + 500) / (1.5 * WINDOW_MS))
    near(rates.lately(pass(WINDOW_MS / 2)), (200 + 500) / (2 * WINDOW_MS))
  })

  it('forgets answers after two windows', () => {
    const { rates, answer, pass } = service()
    answer(WINDOW_MS, 1)
    answer(3 * WINDOW_MS, 10)
    near(rates.lately(pass(0)), 0.1)
  })
})
