/** The reports of an attack fit a terminal for any measurement. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { attackReport, rowsText } from '../../src/report/attack-report.ts'
import type { Judged } from '../../src/report/attack-words.ts'
import { stepsReport } from '../../src/report/steps-report.ts'
import { histogramOf, madeOutcome, madePlan } from './made-outcome.ts'

const fits = (text: string): void =>
  assert.deepEqual(
    text.split('\n').filter(line => line.length > 80),
    [],
  )

const judged: readonly Judged[] = [
  { expected: 'p99 < 250ms', met: true, measured: '12ms', value: 12, unit: 'ms' },
  {
    expected: 'goodput >= 95%',
    met: false,
    measured: '94.996%',
    value: 94.996,
    unit: '%',
    doubt: "not certified (connections): the server's own value is 1234.567ms to 2345.678ms",
  },
]
const bad = madeOutcome({
  scheduled: 2_500_000,
  answered: Object.fromEntries([200, 201, 301, 404, 418, 429, 500, 502, 503, 504].map(each => [each, 123_456])),
  failed: { reset: 1_234_567, 'connect-timeout': 7, other: 3 },
  okMs: [0.1, 100_000],
  incomplete: true,
  certified: false,
  certificate: { code: 'connections', doubts: ['connections'], intervals: {} },
  why: ['12,345 requests waited for one of 10,000 connections; allow more connections, or what else there is.'],
})

describe('the report of one attack', () => {
  test('fits 80 columns and includes each expectation and its result', () => {
    const plan = madePlan({ arrival: { kind: 'closed', users: 100, thinkMs: 0, durationMs: 60_000 } })
    const text = attackReport(plan, bad, judged)
    fits(text)
    assert.match(text, /\nExpected +✓ p99 < 250ms: 12ms\n +✗ goodput >= 95%: 94\.996%, not certified \(connections\)/)
    assert.match(text, /^Goodput /m)
  })

  test('says in one line which figures are certain, and prints only the gravest reason for doubt', () => {
    const interval = (clean: number, measured: number) => [clean, measured] as const
    const ok = {
      ...{ mean: interval(1, 1), p50: interval(1.19, 1.2), p90: interval(2, 2), p95: interval(2, 2) },
      ...{ p99: interval(3, 9), p999: interval(9, 9), max: interval(9, 9.5) },
    }
    const made = (certified: boolean, why: readonly string[]) =>
      attackReport(
        madePlan({}),
        madeOutcome({ certified, why, certificate: { code: 'late', doubts: ['late'], intervals: { ok } } }),
      ).replace(/\s+/g, ' ')
    const text = made(false, ['It was late.', 'It was frozen.', 'Something else.'])
    assert.match(
      text,
      /Certified no \(late\): p50 1\.2 ms, p99 not certain \(3\.0 ms to 9\.0 ms\), max 9\.5 ms It was late\. \(2 more/,
    )
    assert.doesNotMatch(text, /It was frozen/)
    assert.match(made(false, ['It was late.']), /max 9\.5 ms It was late\./)
  })

  test('has ANSI colours only when asked for colour', () => {
    const text = attackReport(madePlan({}), madeOutcome({}), judged, true)
    assert.ok(text.includes('\u001b[32m✓\u001b[39m p99'))
    assert.ok(text.includes('\u001b[31m✗\u001b[39m goodput'))
    assert.ok(!attackReport(madePlan({}), madeOutcome({}), judged).includes('\u001b'))
  })
})

describe('the report of several steps', () => {
  const at = (rate: number) =>
    madePlan({
      arrival: {
        kind: 'open',
        schedule: { phases: [{ kind: 'constant', rate, durationMs: 10_000 }], spacing: 'even', seed: 1 },
      },
    })
  test('has a row for each step, fits 80 columns, and names the step that missed an expectation', () => {
    const runs = [
      { plan: at(100), outcome: madeOutcome({}), judged },
      { plan: at(250_000), outcome: bad, judged },
    ]
    const text = stepsReport(runs, 3, false)
    fits(text)
    assert.match(text, /^ +100\/s .* 75 % +40 ms +80 ms +80 ms +10 % +10 %$/m)
    assert.match(text, /^Incomplete +stopped at 250,000\/s, step 2 of 3$/m)
    assert.match(text, /^Certified +no at 250,000\/s \(connections\)/m)
    assert.match(text, /^Failed +at 100\/s, reset: 4 \(the connection closed/m)
    assert.match(text, /✗ at 250,000\/s, goodput >= 95%: 94\.996%/)
  })

  test('says which figures of a step are certain, as the report of one attack does, and only its gravest doubt', () => {
    const interval = (clean: number, measured: number) => [clean, measured] as const
    const ok = {
      ...{ mean: interval(1, 1), p50: interval(1.19, 1.2), p90: interval(2, 2), p95: interval(2, 2) },
      ...{ p99: interval(3, 9), p999: interval(9, 9), max: interval(9, 9.5) },
    }
    const certificate = { code: 'late', doubts: ['late'], intervals: { ok } } as const
    const late = madeOutcome({ certified: false, why: ['It was late.', 'It was frozen.'], certificate })
    const runs = [
      { plan: at(100), outcome: madeOutcome({}), judged: [] },
      { plan: at(200), outcome: late, judged: [] },
    ]
    const text = stepsReport(runs, 2, false)
    fits(text)
    assert.match(
      text.replace(/\s+/g, ' '),
      /Certified no at 200\/s \(late\): p50 1\.2 ms, p99 not certain \(3\.0 ms to 9\.0 ms\), max 9\.5 ms It was late\. \(1 more/,
    )
    assert.doesNotMatch(text, /It was frozen|do not trust/)
  })

  test('says in one line that every step is certified', () => {
    const text = stepsReport([{ plan: at(100), outcome: madeOutcome({}), judged: [] }], 1, false)
    assert.match(text, /^Certified +yes, every step$/m)
    assert.doesNotMatch(text, /Expected|Incomplete/)
  })
})

describe('the report of several targets', () => {
  const get = (url: string) => ({ url, method: 'GET', headers: {}, body: undefined })
  const target = (okMs: readonly number[], answered: Readonly<Record<string, number>>) => ({
    scheduled: 10,
    sent: 10,
    answered,
    failed: {},
    good: okMs.length,
    okLatency: histogramOf(okMs),
  })
  const targets = [target([5, 5, 5, 5, 5], { 200: 5, 503: 3, 500: 2 }), target([], { 404: 10 })]

  test('has a row for each target', () => {
    const plan = madePlan({
      url: 'http://a/one?x=1',
      others: [{ ...get(`http://a/${'long/'.repeat(20)}`), method: 'PUT' }],
    })
    const text = attackReport(plan, madeOutcome({ targets }))
    fits(text)
    assert.match(text, /^Targets +2, round robin$/m)
    assert.match(text, /^ +10 +50 % +5\.0 ms +5\.0 ms +20 % {2}GET \/one\?x=1$/m)
    assert.match(text, /^ +10 +0 % +– +– +100 % {2}PUT \/long\/.*…$/m)
  })

  test('shows the origin of each target if they are on several servers', () => {
    const text = attackReport(madePlan({ others: [get('http://b/')] }), madeOutcome({ targets }))
    assert.match(text, /GET http:\/\/127\.0\.0\.1:3000\/$/m)
    assert.match(text, /GET http:\/\/b\/$/m)
  })

  test('has no rows if there are no figures by target', () => {
    const text = attackReport(madePlan({ others: [get('http://b/')] }), madeOutcome({ targets: [] }))
    assert.doesNotMatch(text, /http:\/\/b/)
  })
})

test('rowsText() wraps a text at blanks, and a list between its items', () => {
  const text = rowsText([
    ['Name', 'word '.repeat(20).trim()],
    ['', ['one item', 'x'.repeat(60), 'last']],
  ])
  assert.deepEqual(text.split('\n'), [
    `Name  ${'word '.repeat(15).trim()}`,
    `      ${'word '.repeat(5).trim()}`,
    `      one item  ${'x'.repeat(60)}`,
    '      last',
    '',
  ])
})
