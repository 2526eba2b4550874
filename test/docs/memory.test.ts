/** The table of docs/memory.md matches the committed result, and each of its bars can be missed. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type MemoryFigures,
  type MemoryRow,
  type MemoryRun,
  memoryTable,
  missedBars,
  runsOf,
  withRun,
} from '../../bench/lib/memory-figures.ts'
import { tableIn } from '../../bench/lib/page-table.ts'
import { readResult } from '../../bench/lib/parts.ts'
import { ROOT } from './pages.ts'

test('the table of docs/memory.md matches bench/results/memory-cgroup.json, or says that nothing was measured', () => {
  const page = readFileSync(join(ROOT, 'docs/memory.md'), 'utf8')
  assert.equal(tableIn(page, 'memory-cgroup'), memoryTable(readResult<MemoryFigures>('memory-cgroup')))
})

const none = { sent: 0, good: 0, shed: 0, late: 0, failed: 0 }
const survived: MemoryRun = {
  ...{ kind: 'bodies', load: '10x', arm: 'protected', died: undefined, serves: true, peakMb: 200 },
  ...{ requests: { ...none, sent: 10, good: 4, shed: 6 }, pings: { ...none, sent: 5, good: 5 } },
}
const killed: MemoryRun = { ...survived, arm: 'bare', died: 'SIGKILL', serves: false, peakMb: 256 }
const rowsOf = (...runs: readonly MemoryRun[]): MemoryRow[] => runs.reduce<MemoryRow[]>(withRun, [])

test('the runs of a load, a kind and an arm add up', () => {
  const rows = rowsOf({ ...survived, peakMb: 210 }, killed, survived, { ...survived, load: 'half' })
  assert.equal(rows.length, 3)
  assert.equal(runsOf(rows, survived), 2)
  assert.equal(runsOf(rows, { ...survived, kind: 'heap' }), 0)
  const [row] = rows as [MemoryRow]
  assert.deepEqual([row.killed, row.serves, row.peakMb, row.requests.shed, row.pings.good], [0, 2, 210, 12, 10])
})

test('each bar can be missed', () => {
  const half: MemoryRun = { ...survived, load: 'half', requests: { ...none, sent: 4, good: 4 } }
  assert.deepEqual(missedBars(rowsOf(survived, killed, half)), [])
  const missed: readonly (readonly [readonly MemoryRun[], RegExp])[] = [
    [[killed, { ...killed, died: undefined }], /bodies at 10x, bare: only 1 of 2 runs were killed/],
    [[{ ...survived, died: 'SIGKILL', serves: false }], /protected: 1 of 1 runs were killed/],
    [[{ ...survived, serves: false }], /1 of 1 runs did not go on serving/],
    [[{ ...half, requests: { ...half.requests, shed: 1 } }], /bodies at half, protected: 1 requests were shed/],
    [[{ ...half, pings: { ...half.pings, shed: 2 } }], /2 requests were shed/],
  ]
  for (const [runs, says] of missed) {
    const [first, ...others] = missedBars(rowsOf(...runs))
    assert.match(first ?? 'none', says)
    assert.deepEqual(others, [])
  }
  // No bar covers bare at half of the load.
  assert.deepEqual(missedBars(rowsOf({ ...half, arm: 'bare' })), [])
})

test('the table names the arms of each load and kind', () => {
  const where = { date: '2026-11-28', node: 'v24', cpu: 'AMD', cores: 2, loadBefore: 0.1, kernel: '6', commit: 'abc' }
  const limitBytes = 256 * 1024 * 1024
  const figures = { ...where, limitBytes, seconds: 10, rows: rowsOf(survived, killed), missed: [] }
  const table = memoryTable(figures)
  assert.match(
    table,
    /bodies, 10x of what fits \| 1 of 1 killed, .* peak 256 MB \| 0 of 1 killed, 40 % answered in time, 6 shed, peak 200 MB \|/,
  )
  assert.match(memoryTable({ ...figures, rows: rowsOf(killed) }), /peak 256 MB \| not measured \|/)
})
