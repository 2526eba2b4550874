/** Thresholds for CI: valid forms, their meaning, and the error for an invalid one. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { expectationText, judge, parseExpectation } from '../../src/attack/expectation.ts'
import { UserError } from '../../src/user-error.ts'
import { madeOutcome, madePlan } from './made-outcome.ts'

const judged = (text: string, outcome = madeOutcome({}), plan = madePlan({})) =>
  judge(parseExpectation(text), plan, outcome)

describe('an expectation', () => {
  test('is parsed with or without blanks, in any case, and printed in one form', () => {
    const cases: readonly [string, string][] = [
      ['p99<250ms', 'p99 < 250ms'],
      [' P99.9 <= 1.5s ', 'p99.9 <= 1.5s'],
      ['goodput>=95%', 'goodput >= 95%'],
      ['goodput >= 900 /s', 'goodput >= 900/s'],
      ['errors<0.5%', 'errors < 0.5%'],
      ['shed < .1 %', 'shed < 0.1%'],
      ['failed<10', 'failed < 10'],
      ['failed<=1%', 'failed <= 1%'],
      ['mean<1m', 'mean < 1m'],
    ]
    for (const [text, written] of cases) assert.equal(expectationText(parseExpectation(text)), written)
  })

  test('is refused with the list of valid forms if it cannot be parsed', () => {
    const cases: readonly [string, RegExp][] = [
      ['', /cannot parse "": .*p50, p90, p95, p99, p99\.9, max.*goodput.*errors.*shed.*failed/],
      ['p98<1s', /cannot parse "p98<1s".*p99/],
      ['p99=250ms', /cannot parse/],
      ['p99<', /cannot parse/],
      ['__proto__<1%', /cannot parse/],
      ['p99<250', /--expect p99 needs a unit: 250 of what\?/],
      ['p99<soon', /--expect p99 must be a duration/],
      ['goodput>=95', /goodput is compared with percent, such as 95%, or with a rate, such as 900\/s/],
      ['goodput>=101%', /goodput is compared with percent/],
      ['errors<10', /errors is compared with percent, such as 95%\.$/],
      ['failed<9/s', /failed is compared with percent, such as 95%, or with a number of requests/],
      ['shed<-1%', /shed is compared with percent/],
    ]
    for (const [text, sentence] of cases) {
      assert.throws(() => parseExpectation(text), { name: UserError.name, message: sentence }, text)
    }
  })
})

describe('the judgement of an expectation', () => {
  // 100 scheduled: 80 ok (1..80 ms), 10 shed, 4 with status 500, 4 reset, 2 never sent; 75 within the SLO; in 10 s.
  test('compares each metric with its definition', () => {
    const cases: readonly [string, boolean, string][] = [
      ['p50<41ms', true, '40.13ms'],
      ['max<=80ms', true, '80ms'],
      ['max<80ms', false, '80ms'],
      ['mean>40ms', true, '40.5ms'],
      ['goodput>=75%', true, '75%'],
      ['goodput>75%', false, '75%'],
      ['goodput>=7.5/s', true, '7.5/s'],
      ['shed<=10%', true, '10%'],
      ['errors<10%', false, '10%'],
      ['failed<=6', true, '6'],
      ['failed<6%', false, '6%'],
    ]
    for (const [text, met, measured] of cases) {
      const found = judged(text)
      assert.deepEqual([text, found.met, found.measured, found.doubt], [text, met, measured, undefined])
    }
  })

  test('shares of success, shed requests and errors add up to 100 % of what was scheduled', () => {
    const share = (metric: string): number => judged(`${metric}<100%`).value!
    assert.equal((100 * 80) / 100 + share('shed') + share('errors'), 100)
  })

  test('shows enough digits to distinguish a figure from its limit', () => {
    const outcome = madeOutcome({ scheduled: 100_000, good: 94_996, okMs: [250.4] })
    assert.equal(judged('p99<250ms', outcome).measured, '250.4ms')
    assert.equal(judged('goodput>=95%', outcome).measured, '94.996%')
    const almost = madeOutcome({ scheduled: 100_000, good: 99_999 })
    assert.equal(judged('goodput>=100%', almost).measured, '99.999%')
  })

  test('counts every latency and goodput expectation as missed in a run without an answer', () => {
    const none = madeOutcome({ okMs: [] })
    for (const text of ['p99<1h', 'max<1h', 'mean>1ms']) {
      const { met, measured, value } = judged(text, none)
      assert.deepEqual([met, measured, value], [false, 'no answer', null])
    }
    assert.equal(judged('goodput>=1%', madeOutcome({ scheduled: 0, good: 0 })).met, false)
  })

  test('marks a figure that is not certified, and shows the interval of its true value if the interval is wide', () => {
    const late = madeOutcome({
      certified: false,
      certificate: { code: 'late', doubts: ['late'], intervals: { ok: intervals({ p99: [3, 79], p50: [40, 40.1] }) } },
    })
    assert.equal(judged('p99<1s', late).doubt, "not certified (late): the server's own value is 3ms to 79ms")
    assert.equal(judged('p50<1s', late).doubt, 'not certified (late)')
    assert.equal(judged('goodput>1%', late).doubt, 'not certified (late)')
  })
})

const intervals = (given: Readonly<Record<string, readonly [number, number]>>) => ({
  ...({ mean: [1, 1], p50: [1, 1], p90: [1, 1], p95: [1, 1], p99: [1, 1], p999: [1, 1], max: [1, 1] } as const),
  ...given,
})
