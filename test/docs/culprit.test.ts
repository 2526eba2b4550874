/** The table of docs/culprit.md matches the committed result, and a stall is judged as right, wrong or unknown. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  added,
  type CostFigures,
  type Culprit,
  type CulpritFigures,
  culpritTable,
  type Judged,
  judged,
  missedBars,
  type Planted,
  type PlantedFigures,
  type Ratio,
  type Report,
  stallsIn,
  sumOf,
} from '../../bench/lib/culprit-figures.ts'
import { tableIn } from '../../bench/lib/page-table.ts'
import { readResult } from '../../bench/lib/parts.ts'
import { ROOT } from './pages.ts'

test('the table of docs/culprit.md matches bench/results/culprit.json, or says that nothing was measured', () => {
  const page = readFileSync(join(ROOT, 'docs/culprit.md'), 'utf8')
  assert.equal(tableIn(page, 'culprit'), culpritTable(readResult<CulpritFigures>('culprit')))
})

const server = '/app/server.mjs'
const stall: Planted = { form: 'loop', fromMs: 1000, toMs: 2000, route: 'GET /plant/loop', file: server, line: 10 }
const named: Culprit = { fromMs: 1010, toMs: 1990, place: 'server.mjs:10', file: server, line: 10 }
const judge = (culprits: readonly Culprit[], more: Partial<Report> = {}): Judged =>
  judged({ stalls: [stall], culprits, others: [], prepares: { file: server, lines: [30] }, ...more })

describe('a planted stall', () => {
  const verdictOf = (...culprits: readonly Culprit[]): string => {
    const { right, wrong, unknown } = sumOf(judge(culprits))
    assert.equal(right + wrong + unknown, 1)
    return right === 1 ? 'right' : wrong === 1 ? 'wrong' : 'unknown'
  }

  test('is right if its line is named, and unknown without a record or a line', () => {
    assert.equal(verdictOf(named), 'right')
    assert.equal(verdictOf(), 'unknown')
    assert.equal(verdictOf({ fromMs: 1010, toMs: 1990, place: 'unknown' }), 'unknown')
  })

  test('is wrong if another line, another file or a range of lines is named, also beside the right line', () => {
    assert.equal(verdictOf({ ...named, line: 11, place: 'server.mjs:11' }), 'wrong')
    assert.equal(verdictOf({ ...named, file: '/app/other.mjs' }), 'wrong')
    assert.equal(verdictOf({ ...named, place: 'server.mjs:10-11' }), 'wrong')
    assert.equal(verdictOf(named, { ...named, line: 11 }), 'wrong')
  })

  test('of less than 100 ms needs no name', () => {
    assert.equal(stallsIn(sumOf(judge([], { stalls: [{ ...stall, toMs: 1090 }] }))), 0)
  })

  test('with the route of another request is counted, and one without a route is not', () => {
    assert.equal(sumOf(judge([{ ...named, route: 'GET /quick' }])).wrongRoute, 1)
    const { rightRoute, wrongRoute } = sumOf(judge([{ ...named, route: stall.route }]))
    assert.deepEqual([rightRoute, wrongRoute], [1, 0])
    assert.equal(sumOf(judge([named])).wrongRoute, 0)
  })
})

describe('a record that belongs to no planted stall', () => {
  const elsewhere: Culprit = { ...named, fromMs: 5000, toMs: 5300 }

  test('is wrong if nothing planted ran at the time', () => {
    const { elsewhere: found, sentences } = judge([elsewhere])
    assert.deepEqual(found, { named: 1, wrong: 1 })
    assert.match(sentences[0]!, /nothing planted, 300 ms: server\.mjs:10/)
  })

  test('is not wrong with a preparing line, if this line ran at the time', () => {
    const prepared = { ...elsewhere, line: 30 }
    const others = [{ fromMs: 4900, toMs: 5400 }]
    assert.equal(judge([prepared], { others }).elsewhere.wrong, 0)
    assert.equal(judge([prepared]).elsewhere.wrong, 1)
    assert.equal(judge([elsewhere], { others }).elsewhere.wrong, 1)
  })

  test('is not wrong with the line of a stall that it overlaps, nor without a line', () => {
    assert.deepEqual(judge([{ ...named, fromMs: 1900, toMs: 2900 }]).elsewhere, { named: 1, wrong: 0 })
    assert.deepEqual(judge([{ fromMs: 5000, toMs: 5300, place: 'unknown' }]).elsewhere, { named: 0, wrong: 0 })
  })
})

const where = { date: '2026-11-28', node: 'v24', cpu: 'AMD', cores: 2, loadBefore: 0.1, kernel: '6', commit: 'abc' }
const forms = ['regex', 'jsonParse', 'jsonStringify', 'crypto', 'zlib', 'fs', 'loop', 'template', 'addon'].concat(
  ...['afterAwait', 'timer', 'promise', 'workerOwner', 'typescript', 'lateModule'],
)
const met: PlantedFigures = {
  ...{ ...where, elsewhere: { named: 0, wrong: 0 }, sentences: [] },
  forms: Object.fromEntries(
    forms.map(form => [form, { right: 32, unknown: 1, wrong: 0, rightRoute: 30, wrongRoute: 0 }]),
  ),
}
const ratio: Ratio = { off: 1, on: 1.01, ratio: 1.01, quartiles: [1, 1.02] }
const cheap: CostFigures = {
  ...{ ...where, seconds: 60, rate: 1000, pairs: 12, cpuUs: ratio, p50Ms: ratio, p99Ms: ratio },
  rest: { offShare: 0.001, onShare: 0.006, leastShare: 0.002, rssMb: 6, ownMb: 4, leastMb: 3 },
}

test('the figures of several runs add up', () => {
  const twice = added(met, met)
  assert.equal(stallsIn(sumOf(twice)), 2 * stallsIn(sumOf(met)))
  assert.deepEqual(added(undefined, met), met)
  const elsewhere = { named: 2, wrong: 1 }
  assert.deepEqual(added({ ...met, elsewhere }, { ...met, elsewhere }).elsewhere, { named: 4, wrong: 2 })
})

test('each bar can be missed', () => {
  assert.deepEqual(missedBars({ planted: met, costs: cheap }), [])
  const counts = met.forms['loop']!
  const withLoop = (more: Partial<typeof counts>): PlantedFigures => ({
    ...met,
    forms: { ...met.forms, loop: { ...counts, ...more } },
  })
  const { loop: _, ...fourteen } = met.forms
  const missed: readonly (readonly [Partial<CulpritFigures>, RegExp])[] = [
    [{ planted: withLoop({ unknown: 20 }) }, /below 95 %/],
    [{ planted: withLoop({ wrong: 1 }) }, /1 stalls were named wrong, and 0 where none/],
    [{ planted: { ...met, elsewhere: { named: 1, wrong: 1 } } }, /0 stalls were named wrong, and 1 where none/],
    [{ planted: withLoop({ wrongRoute: 1 }) }, /wrong route/],
    [{ planted: { ...met, forms: fourteen } }, /only 14 forms/],
    [{ costs: { ...cheap, rest: { ...cheap.rest, onShare: 0.0062 } } }, /0\.52 % of a core at rest, above 0\.50 %/],
    [{ costs: { ...cheap, rest: { ...cheap.rest, ownMb: 4.2 } } }, /4\.2 MB at rest/],
    [{ costs: { ...cheap, cpuUs: { ...ratio, ratio: 1.02 } } }, /CPU of a request is 1\.020 times/],
    [{ costs: { ...cheap, p50Ms: { ...ratio, ratio: 1.02 } } }, /median latency/],
    [{ costs: { ...cheap, p99Ms: { ...ratio, ratio: 1.02 } } }, /p99/],
  ]
  for (const [figures, says] of missed) {
    const [first, ...others] = missedBars(figures)
    assert.match(first ?? 'none', says)
    assert.deepEqual(others, [])
  }
})

test('the table has the figures beside their bars', () => {
  const table = culpritTable({ planted: met, costs: cheap })
  assert.match(table, /95 % of 500 \| 97\.0 %, 480 of 495 \|/)
  assert.match(table, /at rest, memory \| 4 MB \| 4\.0 MB of its own, 6\.0 MB of rss \|/)
  assert.match(table, /costs measured on \| {2}\| 2026-11-28, commit abc/)
  assert.match(culpritTable({ planted: met }), /its p99 \| 1\.01 times \| not measured \|/)
})
