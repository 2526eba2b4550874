/** The page of an attack: the text about a run, about steps and about targets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoadPlan } from '../../src/load/plan.ts'
import { attackPage } from '../../src/report/attack-page.ts'
import { formatMs } from '../../src/report/format.ts'
import { scenarioHtml } from '../../src/report/html.ts'
import type { Judged } from '../../src/report/attack-words.ts'
import { histogramOf, madeOutcome, madePlan } from './made-outcome.ts'

const facts = {
  startedAt: '2026-11-23T09:00:00.000Z',
  conditions: {
    ...{ commandLine: 'meltlab attack', labVersion: '0.1.0', node: 'v24', platform: 'Linux', cpu: 'x', cores: 2 },
    ...{ memoryBytes: 1e9, pinning: null, foreign: null },
  },
}
const judged: readonly Judged[] = [
  { expected: 'goodput >= 95%', met: false, measured: '75%', value: 75, unit: '%', doubt: 'not certified (late)' },
]
const at = (rate: number): LoadPlan =>
  madePlan({
    arrival: {
      kind: 'open',
      schedule: { phases: [{ kind: 'constant', rate, durationMs: 2000 }], spacing: 'even', seed: 1 },
    },
  })
const seconds = [0, 1].map(second => ({
  ...{ second, scheduled: 50, sent: 50, answered: { 200: 40 }, failed: {}, good: 40 - second },
  ...{ okLatency: histogramOf(second === 0 ? [5] : []), shedLatency: histogramOf([]) },
}))

test('the page of one run has a finding, its expectations, and plots by second', () => {
  const outcome = madeOutcome({ seconds, certified: false, why: ['It was <late>.'] })
  const page = attackPage([{ plan: at(50), outcome, judged }], facts)
  assert.equal(
    page.finding,
    'Expectations missed: goodput >= 95% (75%, not certified (late)). Goodput is 75 % at 50/s, p99 80 ms.',
  )
  assert.deepEqual(page.verdicts, [{ name: 'goodput >= 95%', verdict: 'fail', measured: '75%, not certified (late)' }])
  const [goodput, p99] = page.plots
  assert.ok(goodput?.kind === 'lines' && p99?.kind === 'lines')
  assert.deepEqual(goodput.series[1]!.points, [
    [0, 40],
    [1, 39],
  ])
  assert.deepEqual(p99.series[0]!.points, [
    [0, 5],
    [1, null],
  ])
  const html = scenarioHtml(page, '')
  assert.match(html, /not certified/)
  assert.match(html, /It was &lt;late&gt;\./)
  assert.doesNotMatch(html, /NaN|undefined/)
})

test('the page of several steps has a row and an expectation for each step', () => {
  const page = attackPage(
    [50, 100].map(rate => ({ plan: at(rate), outcome: madeOutcome({}), judged })),
    facts,
  )
  assert.match(
    page.finding,
    /^Expectations missed: goodput >= 95% at 50\/s \(.*Goodput is 75 % at 50\/s, 75 % at 100\/s\.$/,
  )
  assert.deepEqual(
    page.verdicts.map(({ name }) => name),
    ['goodput >= 95% at 50/s', 'goodput >= 95% at 100/s'],
  )
  assert.deepEqual(
    page.tables.map(({ title, rows }) => [title, rows.length]),
    [
      ['Step by step', 2],
      ['Latency by percentile', 2],
    ],
  )
})

test('latency by percentile is drawn on the axis 1 / (1 - quantile), and its table shows the same values', () => {
  const page = attackPage([{ plan: at(50), outcome: madeOutcome({ seconds }), judged: [] }], facts)
  const plot = page.plots.at(-1)!
  assert.ok(plot.kind === 'lines' && plot.x.scale === 'log')
  assert.deepEqual(
    plot.series.map(({ arm, points }) => [arm, points[0], points.at(-1)]),
    [
      ['2xx and 3xx', [1, 1], [80, 80]],
      ['503', [1, 1], [10, 10]],
      ['other answers', [1, 1], [4, 4]],
    ],
  )
  const p90 = plot.series[0]!.points.find(([odds]) => odds === 10)!
  assert.ok(Math.abs(p90[1]! - 72) < 0.5, `${p90}`)
  const html = scenarioHtml(page, '')
  for (const tick of ['>0 %<', '>90 %<']) assert.ok(html.includes(tick), tick)
  const { columns, rows } = page.tables.at(-1)!
  assert.deepEqual(
    [columns[3], rows[0]!.cells[3], columns[6], rows[0]!.cells[6], rows[0]!.cells[8]],
    ['p90', '72 ms', 'p99.9', '–', '80 ms'],
  )
})

test('the table has every percentile that is drawn, with the same value, for 10, 999, 1,000 and 10,000 answers', () => {
  for (const answers of [10, 999, 1000, 10_000]) {
    const okMs = Array.from({ length: answers }, (_, each) => 1 + each / 1000)
    const page = attackPage([{ plan: at(50), outcome: madeOutcome({ okMs, seconds }), judged: [] }], facts)
    const plot = page.plots.at(-1)!
    assert.ok(plot.kind === 'lines')
    const drawn = plot.series[0]!.points
    const { columns, rows } = page.tables.at(-1)!
    for (const [odds, name] of [
      [10, 'p90'],
      [1000, 'p99.9'],
      [10_000, 'p99.99'],
    ] as const) {
      const value = drawn.find(([each]) => Math.abs(each - odds) < 1e-6)?.[1] ?? null
      assert.equal(rows[0]!.cells[columns.indexOf(name)], formatMs(value), `${name} of ${answers}`)
      assert.equal(value === null, answers < odds)
    }
  }
})

test('latency is drawn for at most five rates, the first and the last among them', () => {
  const rates = Array.from({ length: 12 }, (_, each) => (each + 1) * 10)
  const page = attackPage(
    rates.map(rate => ({ plan: at(rate), outcome: madeOutcome({}), judged: [] })),
    facts,
  )
  const plot = page.plots.at(-1)!
  assert.ok(plot.kind === 'lines')
  const arms = plot.series.map(({ arm }) => arm)
  assert.deepEqual([arms.length, arms[0], arms.at(-1)], [5, 'at 10/s', 'at 120/s'])
  assert.equal(page.tables.at(-1)!.rows.length, 12)
})

test('the page of several targets has a row for each, labelled with method and URL', () => {
  const target = { ...madeOutcome({}), okLatency: histogramOf([5]) }
  const plan = { ...at(50), others: [{ url: 'http://b/', method: 'PUT', headers: {}, body: undefined }] }
  const page = attackPage([{ plan, outcome: madeOutcome({ targets: [target, target] }), judged: [] }], facts)
  assert.equal(page.title, '2 targets, round robin')
  assert.deepEqual(
    page.tables[1]!.rows.map(({ cells }) => cells[0]),
    ['GET http://127.0.0.1:3000/', 'PUT http://b/'],
  )
})

test('the page of a run without any answer has no NaN and no undefined', () => {
  const none = madeOutcome({ okMs: [], scheduled: 0, sent: 0, good: 0, seconds: [] })
  assert.doesNotMatch(
    scenarioHtml(attackPage([{ plan: at(1), outcome: none, judged: [] }], facts), ''),
    /NaN|undefined/,
  )
})
