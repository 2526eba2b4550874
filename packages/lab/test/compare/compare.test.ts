/** The differences that are found, the inputs that are refused, and the text about them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compare } from '../../src/compare/compare.ts'
import { comparedFigures, isDecided } from '../../src/compare/comparison.ts'
import { readRun } from '../../src/compare/figures.ts'
import { comparisonText, finding } from '../../src/compare/text.ts'
import { trimmedInterval, twoSidedT } from '../../src/compare/trimmed-interval.ts'
import { type Made, machine, madeAttack, madeOutcome } from '../results/made-attack.ts'
import { constant } from '../load/plan-for.ts'
import { inTurns, madeResult } from './made-rounds.ts'

/** Latencies of a run: the median, and others around it. */
const around = (ms: number): number[] => [0.9, 0.95, 1, 1.05, 1.1].map(share => share * ms)
const scattered = (ms: number): number[][] =>
  [1, 1.01, 0.99, 1.02, 0.98, 1, 1.01, 0.99].map(share => around(ms * share))
const verdicts = (figures: readonly { readonly name: string; readonly verdict: string }[]): Record<string, string> =>
  Object.fromEntries(figures.map(({ name, verdict }) => [name, verdict]))

test("twoSidedT() matches the published tables of Student's t", () => {
  for (const [confidence, df, expected] of [
    [0.95, 1, 12.706],
    [0.95, 2, 4.303],
    [0.99, 5, 4.032],
    [0.99, 9, 3.25],
    [0.998, 5, 5.893],
    [0.95, 30, 2.042],
    [0.99, 1000, 2.581],
  ] as const) {
    assert.ok(Math.abs(twoSidedT(confidence, df) - expected) < 0.0006, `${confidence} ${df}`)
  }
})

test('trimmedInterval() of five values: trimmed mean, Winsorised deviation, 2 degrees of freedom', () => {
  // Trimmed: 2, 3, 4. Winsorised: 2, 2, 3, 4, 4, whose variance is 1. Error 1 / (0.6 * sqrt(5)).
  const { middle, low, high } = trimmedInterval([1, 2, 3, 4, 50], 0.95)
  assert.equal(middle, 3)
  assert.ok(Math.abs(high - 3 - 4.3027 / (0.6 * Math.sqrt(5))) < 0.001)
  assert.ok(Math.abs(low + high - 6) < 1e-9)
})

test('trimmedInterval() shifts and scales with its values', () => {
  const values = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 5, maxLength: 30 })
  fc.assert(
    fc.property(
      values,
      fc.double({ min: -5, max: 5, noNaN: true }),
      fc.double({ min: 0.1, max: 10, noNaN: true }),
      (all, by, times) => {
        const before = trimmedInterval(all, 0.98)
        const after = trimmedInterval(
          all.map(value => value * times + by),
          0.98,
        )
        for (const side of ['low', 'middle', 'high'] as const) {
          assert.ok(Math.abs(after[side] - (before[side] * times + by)) < 1e-9 * (1 + Math.abs(after[side])))
        }
        assert.ok(before.low <= before.middle && before.middle <= before.high)
      },
    ),
  )
})

test('a change larger than the scatter is reported as worse, with an interval that contains it', () => {
  const { figures, rounds, leftOut, remarks } = compare(...inTurns(scattered(10), scattered(11)))
  assert.deepEqual([rounds, leftOut, remarks], [8, [], []])
  assert.deepEqual(verdicts(figures), {
    goodput: 'no difference seen',
    p50: 'worse',
    p90: 'worse',
    p99: 'worse',
    errors: 'no difference seen',
  })
  const p50 = figures.find(({ name }) => name === 'p50')!
  assert.ok(p50.interval![0] > 0.07 && p50.interval![0] < 0.1 && p50.interval![1] > 0.1 && p50.interval![1] < 0.13)
  assert.equal(finding({ figures }).startsWith('B is worse: p50 +10'), true)
})

test('the opposite change is reported as better', () => {
  const { figures } = compare(...inTurns(scattered(11), scattered(10)))
  assert.equal(verdicts(figures)['p50'], 'better')
})

test('scatter alone, and one disturbed round, are not reported as a difference', () => {
  const a = scattered(10)
  const disturbed = scattered(10).toReversed()
  disturbed[3] = around(30)
  const { figures } = compare(...inTurns(a, disturbed))
  assert.ok(figures.every(({ verdict }) => verdict === 'no difference seen' || verdict === 'undecided'))
  const quiet = compare(...inTurns(a, scattered(10)))
  assert.ok(quiet.figures.every(({ verdict }) => verdict === 'no difference seen'))
  assert.equal(finding(quiet), 'No difference between A and B was found.')
})

test('a change that noise may hide is undecided, and the report says how large a change would have shown', () => {
  const noisy = (ms: number): number[][] => [1, 1.2, 0.85, 1.1, 0.8, 1.15, 0.9, 1.05].map(share => around(ms * share))
  // B is a tenth slower, on a machine whose latencies scatter by 15 %.
  const comparison = compare(...inTurns(noisy(10), noisy(11).toReversed()))
  const p50 = comparison.figures.find(({ name }) => name === 'p50')!
  assert.equal(p50.verdict, 'undecided')
  assert.ok(p50.hides! > 0.1 && p50.hides! < 1, `${p50.hides}`)
  assert.match(
    finding(comparison),
    /^Undecided: only more than ±\d+ % of p50, ±\d+ % of p90 and ±\d+ % of p99 would have shown\.$/,
  )
  assert.match(comparisonText(comparison), /^p50 .* undecided, ±\d+ %$/m)
  for (const line of comparisonText(comparison).split('\n')) assert.ok(line.length <= 80, line)
  assert.equal(verdicts(comparison.figures)['goodput'], 'no difference seen')
  // The same figures, with a threshold above a change of that size.
  assert.equal(verdicts(compare(...inTurns(noisy(10), noisy(11).toReversed()), 1).figures)['p50'], 'no difference seen')
})

test('--until ends when every figure is known precisely enough, not when a difference first shows', () => {
  const figures = (change: number, hides: number, verdict: 'worse' | 'no difference seen' | 'undecided') =>
    compare(...inTurns(scattered(10), scattered(10))).figures.map(each => ({ ...each, change, hides, verdict }))
  assert.equal(isDecided(figures(0.01, 0.04, 'no difference seen')), true)
  assert.equal(isDecided(figures(0.05, 0.08, 'undecided')), false)
  assert.equal(isDecided(figures(0.09, 0.08, 'worse')), false)
  assert.equal(isDecided(figures(0.5, 0.08, 'worse')), true)
})

test('one disturbed round does not hide a change', () => {
  const b = scattered(11)
  b[3] = around(2)
  assert.equal(verdicts(compare(...inTurns(scattered(10), b)).figures)['p50'], 'worse')
})

test('a change within the resolution of the histogram is not a difference, even if every round shows it', () => {
  const { figures } = compare(...inTurns(Array<number[]>(8).fill(around(10)), Array<number[]>(8).fill(around(10.05))))
  assert.equal(verdicts(figures)['p50'], 'no difference seen')
})

test('errors are compared by their share of requests, even if one side has none', () => {
  const round = (errors: number) => ({ goodput: 100, p50: 1, p90: 1, p99: 1, errors })
  const same = <T>(figures: T) => ({ measured: figures, clean: figures })
  const rounds = [0.02, 0.021, 0.019, 0.02, 0.022].map(errors => ({ a: same(round(0)), b: same(round(errors)) }))
  const errors = comparedFigures(rounds).find(({ name }) => name === 'errors')!
  assert.equal(errors.verdict, 'worse')
  assert.ok(Math.abs(errors.change! - 0.02) < 0.001)
})

test('a side that answers nothing is worse, although it has no latency', () => {
  const [a] = inTurns(scattered(10), scattered(10))
  const dead = a.results.map((_, at) =>
    madeResult(`B ${at}`, 2 * at + 1, { okMs: [], failed: 5, plan: { arrival: constant(5, 4000) } }),
  )
  const { figures } = compare(a, { name: 'B', results: dead })
  assert.deepEqual(verdicts(figures), {
    goodput: 'worse',
    p50: 'cannot tell',
    p90: 'cannot tell',
    p99: 'cannot tell',
    errors: 'worse',
  })
})

test('with one run of each side every verdict is "cannot tell", and a remark says why', () => {
  const [a, b] = inTurns([around(10)], [around(20)])
  const comparison = compare(a, b)
  assert.ok(comparison.figures.every(({ verdict, interval }) => verdict === 'cannot tell' && interval === null))
  assert.ok(Math.abs(comparison.figures[1]!.change! - 1) < 0.01)
  assert.match(comparison.remarks[0]!, /^One run of each cannot tell a difference from chance/)
  assert.equal(finding(comparison), 'Whether A and B differ is unknown.')
})

test('a remark says if all runs of A came before all runs of B', () => {
  const side = (name: string, from: number) => ({
    name,
    results: scattered(10).map((okMs, at) => madeResult(name, from + at, { okMs })),
  })
  assert.match(compare(side('A', 0), side('B', 30)).remarks[0]!, /^A and B did not alternate/)
})

for (const [what, made, sentence] of [
  [
    'another load',
    { okMs: [1, 2] },
    /: the load is 4\/s for 4s in A, 2\/s for 4s in B\. Measure both with the same load/,
  ],
  ['another duration', { seconds: 3 }, /the load is 4\/s for 4s in A, 4\/s for 3s in B\. /],
  ['another path', { plan: { url: 'http://127.0.0.1:3000/b' } }, /: the path is \/ in A, \/b in B\. /],
  ['another SLO', { plan: { sloMs: 500 } }, /: the SLO is 1 s in A, 500 ms in B\. /],
  ['another body', { plan: { body: 'b' } }, /: the body is null in A/],
  [
    'another header',
    { plan: { headers: { accept: 'a' } } },
    /: the set of headers is \{\} in A, \{"accept":"a"\} in B\. /,
  ],
  [
    'other connections',
    { plan: { connections: { kind: 'fresh' } } },
    /: the set of connections is 10 standing, 500 at most in A, a new one per request in B\. /,
  ],
  [
    'another processor',
    { origin: { machines: [{ ...machine, cpu: 'another' }] } },
    /: the processor is a processor in A, another in B\. /,
  ],
  [
    'another version of Node',
    { origin: { machines: [{ ...machine, node: 'v26.0.0' }] } },
    /: the version of Node is v24\.11\.0 in A, v26\.0\.0 in B\. /,
  ],
  [
    'another version of meltlab',
    { origin: { labVersion: '0.2.0' } },
    /: the version of meltlab is 0\.1\.0 in A, 0\.2\.0 in B\. /,
  ],
] as const satisfies readonly (readonly [string, Made, RegExp])[]) {
  test(`sides are not compared if B has ${what}`, () => {
    const sides = [
      { name: 'A', results: [madeResult('A', 0)] },
      { name: 'B', results: [madeResult('B', 1, made)] },
    ] as const
    assert.throws(() => compare(...sides), { name: 'UserError', message: sentence })
  })
}

test('sides that differ only in port and start time are compared', () => {
  const b = madeResult('B', 1, { plan: { url: 'http://127.0.0.1:4000/' } })
  assert.equal(compare({ name: 'A', results: [madeResult('A', 0)] }, { name: 'B', results: [b] }).rounds, 1)
})

const uncertified: Made = {
  okMs: around(10),
  outcome: {
    certified: false,
    why: ['It used its whole core.'],
    certificate: { code: 'saturated', doubts: ['saturated'], intervals: {} },
  },
}

test('a round that is not certified is left out, with the reason', () => {
  const [a, b] = inTurns(scattered(10), scattered(11))
  const results = b.results.with(2, madeResult('B 3', 4, uncertified))
  const comparison = compare(a, { ...b, results })
  assert.deepEqual([comparison.rounds, comparison.leftOut], [7, ['round 3: B 3 is not certified (saturated)']])
})

/** Ten answers per second. The last is recorded `lateMs` later than the server sent it. */
const lateTail = (ms: number, lateMs: number): Made => {
  const cleanMs = Array.from({ length: 10 }, (_, at) => ms * (1 + at / 100))
  const okMs = cleanMs.with(9, cleanMs[9]! + lateMs)
  const clean = { ...madeOutcome({ okMs }).clean, ok: madeOutcome({ okMs: cleanMs }).okLatency }
  const certificate = { code: 'late', doubts: ['late'], intervals: {} } as const
  return { okMs, outcome: { certified: false, why: ['It was late.'], certificate, clean } }
}
const lateRounds = (a: readonly Made[], b: readonly Made[]) =>
  compare(
    { name: 'A', results: a.map((made, at) => madeResult(`A ${at}`, 2 * at, made)) },
    { name: 'B', results: b.map((made, at) => madeResult(`B ${at}`, 2 * at + 1, made)) },
  )

test('lateness of the generator does not exclude a round, but widens the interval of the change', () => {
  const { rounds, leftOut, figures, remarks } = lateRounds(
    scattered(10).map(okMs => lateTail(okMs[0]!, 1)),
    scattered(11).map(okMs => lateTail(okMs[0]!, 4)),
  )
  assert.deepEqual([rounds, leftOut], [8, []])
  assert.equal(verdicts(figures)['p50'], 'worse')
  assert.deepEqual(
    figures.filter(({ blurred }) => blurred).map(({ name }) => name),
    ['p99'],
  )
  const [low, high] = figures.find(({ name }) => name === 'p99')!.interval!
  // The bounds come from 10 and 11 ms, and from 11 and 15 ms.
  assert.ok(low < 0.1 && low > 0.05 && high > 0.3 && high < 0.45, `${low} ${high}`)
  assert.match(
    remarks[0]!,
    /^The generator was late, which makes the interval of p99 wider\. Of A 0: It was late\. End/,
  )
})

test('a difference that only the lateness of the generator causes is undecided', () => {
  // B looks slower to the user, but its server is equally fast.
  const { figures } = lateRounds(
    scattered(10).map(okMs => lateTail(okMs[0]!, 0)),
    scattered(10).map(okMs => lateTail(okMs[0]!, 20)),
  )
  assert.equal(verdicts(figures)['p99'], 'undecided')
  assert.equal(figures.find(({ name }) => name === 'p99')!.blurred, true)
})

test('the clean goodput of closed-loop users corrects for the lateness of the generator', () => {
  const closed = (made: Made): Made => ({
    ...made,
    plan: { arrival: { kind: 'closed', users: 1, durationMs: 4000, thinkMs: 0 } },
  })
  const { measured, clean } = readRun(madeAttack(closed(lateTail(10, 20))))
  assert.equal(measured.goodput, 10)
  assert.ok(Math.abs(clean.goodput! - (10 * 124.5) / 104.5) < 0.01, `${clean.goodput}`)
})

test('a run that is on both sides, or twice on one, is refused', () => {
  const [a, b] = inTurns(scattered(10), scattered(11))
  assert.throws(() => compare(a, { ...b, results: [a.results[0]!, ...b.results.slice(1)] }), {
    name: 'UserError',
    message: 'A 1 is given twice, or contains a run twice; give results of different runs',
  })
})

test('further requests of the sides may differ in host and port, but not in path', () => {
  const others = (url: string): Made => ({
    plan: { others: [{ url, method: 'GET', headers: {}, body: undefined }] },
  })
  const a = { name: 'A', results: [madeResult('A', 0, others('http://127.0.0.1:3000/x'))] }
  const b = (url: string) => ({ name: 'B', results: [madeResult('B', 1, others(url))] })
  assert.equal(compare(a, b('http://127.0.0.1:4000/x')).rounds, 1)
  assert.throws(() => compare(a, b('http://127.0.0.1:3000/y')), { message: /: the list of further requests is / })
})

test('a remark says if runs were at the same time', () => {
  const [a, b] = [madeResult('A 1', 0), madeResult('B 1', 0)]
  assert.match(
    compare({ name: 'A', results: [a] }, { name: 'B', results: [b] }).remarks.join(' '),
    /A 1 and B 1 ran at the same time: each affected the other\./,
  )
})

test('fewer than five certified rounds are refused', () => {
  const [a, b] = inTurns(scattered(10), scattered(11))
  const results = b.results.map((result, at) => (at < 4 ? madeResult(`B ${at + 1}`, 2 * at, uncertified) : result))
  assert.throws(() => compare(a, { ...b, results }), {
    message:
      'of 8 rounds 4 are unreliable, and at least 5 reliable ones are needed; round 1: B 1 is not certified (saturated): It used its whole core. Fix that, or measure a smaller load: --rate, or fewer --users.',
  })
})

test('sides with different numbers of results are refused', () => {
  const [a, b] = inTurns(scattered(10), scattered(11))
  assert.throws(() => compare(a, { ...b, results: b.results.slice(1) }), {
    message: /A has 8 results and B 7; remove those without a partner$/,
  })
})

test('a remark says that hidden credentials may differ', () => {
  const made = { plan: { headers: { authorization: 'a' } } }
  const { remarks } = compare(
    { name: 'A', results: [madeResult('A', 0, made)] },
    { name: 'B', results: [madeResult('B', 1, made)] },
  )
  assert.ok(remarks.includes('Whether authorization was the same is unknown, because results hide credentials.'))
})

test('percentiles are interpolated within a histogram bucket', () => {
  const values = Array.from({ length: 1000 }, (_, at) => 1 + at / 100_000)
  const p = (percent: 'p50' | 'p90') => readRun(madeAttack({ okMs: values, seconds: 1 })).measured[percent]!
  assert.ok(Math.abs(p('p50') - 1.005) < 0.0003 && Math.abs(p('p90') - 1.009) < 0.0003, `${p('p50')} ${p('p90')}`)
})

test('the comparison table fits 80 columns for any names and figures, and ends with the finding', () => {
  const [a, b] = inTurns(scattered(900), scattered(99_000))
  const text = comparisonText(compare({ ...a, name: 'x'.repeat(200) }, b))
  assert.deepEqual(
    text.split('\n').filter(line => line.length > 80),
    [],
  )
  assert.match(text, /goodput +5\/s +0\/s +-100 % .*B is worse\n+p50 +90\d ms +99\.\d s +\+109\d\d % +/)
  assert.match(text, /^B is worse(?: in|:) /m)
})
