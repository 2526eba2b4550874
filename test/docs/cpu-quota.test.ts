/** The tables of CPU quotas in docs/fleet.md match the committed results, and each bar can be missed. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type LowRate, lowRateTable } from '../../bench/lib/low-rate-figures.ts'
import { tableIn } from '../../bench/lib/page-table.ts'
import { readResult } from '../../bench/lib/parts.ts'
import {
  missedBars,
  type QuotaFigures,
  type QuotaRun,
  quotaTable,
  rowsOf,
  type ShareFigures,
  whyUnsure,
} from '../../bench/lib/quota-figures.ts'
import { ROOT } from './pages.ts'

test('the tables of docs/fleet.md match the results of cpu-quota and low-rate, or say that nothing was measured', () => {
  const page = readFileSync(join(ROOT, 'docs/fleet.md'), 'utf8')
  assert.equal(tableIn(page, 'cpu-quota'), quotaTable(readResult<QuotaFigures>('cpu-quota')))
  assert.equal(tableIn(page, 'low-rate'), lowRateTable(readResult<LowRate>('low-rate')))
})

const bare: QuotaRun = {
  ...{ arm: 'bare', load: 0.9, seconds: 10, due: 1000, good: 1000, late: 0, shed: 0, failed: 0 },
  ...{ p50Ms: 5, p99Ms: 300, usedShare: 0.9, throttledMsPerS: 500 },
}
const ours: QuotaRun = { ...bare, arm: 'protected' }
const shareOf = (runs: readonly QuotaRun[], more: Partial<ShareFigures> = {}): ShareFigures => ({
  ...{ share: 0.22, capacity: 111, searches: [110, 112], after: 111, runs, ...more },
})

test('the rounds of an arm at a load add up, with medians of the percentiles', () => {
  const p99 = (p99Ms: number | null): QuotaRun => ({ ...ours, p99Ms })
  const [row, ...others] = rowsOf(shareOf([p99(300), p99(null), p99(900), p99(400)]))
  assert.deepEqual(others, [])
  assert.deepEqual([row!.goodput, row!.p99Ms, row!.shed], [100, 400, 0])
})

test('each bar can be missed', () => {
  const missedBy = (...runs: readonly QuotaRun[]): string[] => missedBars([shareOf(runs)])
  assert.deepEqual(missedBy(bare, ours), [])
  const missed: readonly (readonly [readonly QuotaRun[], RegExp])[] = [
    // Above its capacity a service must shed, but it still has to answer nearly as many requests as the best arm.
    [
      [
        { ...bare, load: 2 },
        { ...ours, load: 2, good: 960, shed: 40 },
      ],
      /at 200 %, protected: 96 % of the goodput/,
    ],
    [[bare, { ...ours, p99Ms: 501 }], /22 % of a core at 90 %, protected: p99 501 ms/],
    [[bare, { ...ours, p99Ms: null }], /p99 –/],
    [[bare, { ...ours, good: 990, late: 10 }], /1\.0 % answered later than a second/],
    [[bare, { ...ours, good: 990, shed: 10 }], /1\.0 % shed, of which bare answers all but 0 %/],
    [[bare, { ...ours, arm: 'told', good: 990, shed: 10 }], /told: 1\.0 % shed/],
  ]
  for (const [runs, says] of missed) {
    const [first, ...others] = missedBy(...runs)
    assert.match(first ?? 'none', says)
    assert.deepEqual(others, [])
  }
  assert.deepEqual(missedBy({ ...bare, good: 990, late: 10 }, { ...ours, good: 990, shed: 10 }), [])
  assert.deepEqual(missedBy(bare, { ...ours, arm: 'unlimited', good: 500, late: 500, p99Ms: 2000 }), [])
})

test('nothing is judged by a capacity that is not steady or has drifted, and the table says so', () => {
  const late: QuotaRun = { ...ours, good: 500, late: 500, p99Ms: 2000 }
  for (const more of [{ searches: [110, 150] }, { after: 150 }]) {
    const figures = shareOf([bare, late], more)
    assert.notEqual(whyUnsure(figures), undefined)
    assert.deepEqual(missedBars([figures]), [])
    const where = { date: '2026-11-28', node: 'v24', cpu: 'AMD', cores: 2, loadBefore: 0.1, kernel: '6', commit: 'abc' }
    const table = quotaTable({ ...where, periodMs: 100, shares: [figures], missed: [] })
    assert.match(
      table,
      /22 % of a core, with meltproof \(not judged\) \| 100\/s \(90 %\) \| 50\/s \| 2\.00 s \| 50 % \| 0 % \|/,
    )
  }
  assert.equal(missedBars([shareOf([bare, late])]).length, 3)
})
