/**
 * The part of a workload on the page of the scoreboard: every arm in every row, and the arm that is ahead of meltproof.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MeltMeasured, Row } from '../../src/melt/measured.ts'
import { aheadAt, type Board, findingOf, overviewsOf } from '../../src/scenarios/overload/board.ts'
import { againstP99, overloadView } from '../../src/scenarios/overload/view.ts'
import { ARMS, WORKLOADS } from '../../src/scenarios/overload/workloads.ts'

const row = (arm: string, multiple: number, ofCapacity: number, p99: number | null, shed = 0): Row => ({
  ...{ arm, multiple, rounds: 3, offered: 200 * multiple, goodput: 200 * ofCapacity, ofCapacity, shed },
  ...{ late: 0, shedLate: 0, otherStatus: 0, failed: 0, unsent: 0, errors: 0, peakRssBytes: 1e8, died: false },
  admittedMs: { p50: p99, p99, max: p99 },
  shedMs: { p50: 1, p99: 2, max: 3 },
  ...{ longestAnswerMs: p99, cpuPerAnswerUs: 1 },
})

const board = (rows: readonly Row[], more: Partial<Board> = {}): Board => ({
  what: 'a workload, standing',
  rows,
  kept: each => each.ofCapacity,
  below: rows.filter(each => each.multiple < 1),
  best: () => 0.95,
  underLoad: true,
  ahead: {},
  ...more,
})

test('every arm has a cell in every row: a dash if it was not measured, "none" if it answered nothing', () => {
  const rows = [row('bare', 0.9, 0.9, 20, 1.8), row('meltproof', 10, 0.93, 108), row('bare', 10, 0, null)]
  const [goodput, p99, shed, ahead] = overviewsOf(board(rows))
  for (const table of [goodput!, p99!, shed!]) {
    assert.deepEqual(table.columns.slice(2, 2 + ARMS.length), ARMS)
    for (const { cells } of table.rows) assert.equal(cells.length, table.columns.length)
  }
  const cells = (table: typeof goodput, arm: (typeof ARMS)[number]) =>
    table!.rows.map(each => each.cells[table!.columns.indexOf(arm)])
  assert.deepEqual(cells(goodput, 'bare'), ['0 %'])
  assert.deepEqual(cells(goodput, 'meltproof'), ['93 %'])
  assert.deepEqual(cells(goodput, 'haproxy-guessed'), ['–'])
  assert.deepEqual(cells(p99, 'bare'), ['none'])
  assert.deepEqual(cells(p99, 'toobusy-js'), ['–'])
  assert.deepEqual(cells(shed, 'bare'), ['1.00 %'])
  assert.deepEqual(cells(shed, 'meltproof'), ['–'])
  assert.equal(shed!.rows[0]!.cells[1], '0.9x')
  assert.deepEqual(ahead!.rows, [])
})

test('a result whose load ended with its window has a dash in the column "completed under load"', () => {
  const last = (underLoad: boolean) =>
    overviewsOf(board([row('bare', 10, 0, 9)], { underLoad }))[0]!.rows[0]!.cells.at(-1)
  assert.deepEqual([last(true), last(false)], ['yes', '–'])
})

test('an arm is ahead if it is as good as meltproof in both rounded figures, and better in one', () => {
  const ahead = (...others: readonly Row[]) =>
    aheadAt(board([row('meltproof', 10, 0.93, 108), ...others]), 10).map(({ arm }) => arm)
  assert.deepEqual(ahead(row('overload-protection', 10, 0.98, 630)), [], 'more goodput at a higher p99')
  assert.deepEqual(ahead(row('overload-protection', 10, 0.98, 100)), ['overload-protection'])
  assert.deepEqual(ahead(row('toobusy-js', 10, 0.93, 107)), ['toobusy-js'])
  assert.deepEqual(ahead(row('toobusy-js', 10, 0.932, 108)), [], 'both are shown as 93 %')
  assert.deepEqual(ahead(row('bare', 10, 0.99, null)), [], 'without an answer there is no p99')
  assert.deepEqual(ahead(row('haproxy-agent', 10, 0.99, 90)), [], 'meltproof decides there too')
  assert.deepEqual(ahead(row('haproxy-guessed', 100, 0.99, 90)), [], 'another load')
})

test('the row of an arm that is ahead has both figures and the reason, or a dash without one', () => {
  const rows = [row('meltproof', 10, 0.84, 200), row('toobusy-js', 10, 0.9, 100)]
  const cells = (ahead: Board['ahead']) => overviewsOf(board(rows, { ahead }))[3]!.rows.map(each => each.cells.slice(2))
  assert.deepEqual(cells({ 'toobusy-js': 'It is.' }), [
    ['toobusy-js', '90 %, meltproof 84 %', '100 ms, meltproof 200 ms', 'It is.'],
  ])
  assert.equal(cells({})[0]!.at(-1), '–')
})

test('the finding starts with the best arm, and counts the arms that kept nothing', () => {
  const nothing = ['bare', 'toobusy-js', 'under-pressure'].map(arm => row(arm, 10, 0, null))
  const some = [row('meltproof', 10, 0.93, 108), row('overload-protection', 10, 0.98, 630)]
  assert.match(
    findingOf(board([...nothing, ...some])),
    /overload-protection 98 % \(630 ms\), meltproof 93 % \(108 ms\), 3 others 0 %; 95 % is possible\.$/,
  )
  assert.match(findingOf(board([...nothing.slice(1), ...some])), /, toobusy-js and under-pressure 0 %;/)
})

test('each load shown is a panel with a point for each measured arm, and the ideal', () => {
  const rows = [10, 100].flatMap(load => [row('bare', load, 0, null), row('meltproof', load, 0.9, 100)])
  const { panels } = againstP99(board([...rows, row('bare', 1, 1, 5)]))
  assert.deepEqual(
    panels.map(({ label }) => label),
    ['at 10x', 'at 100x'],
  )
  assert.deepEqual(panels[0]!.points, [
    { arm: 'bare', x: null, y: 0 },
    { arm: 'meltproof', x: 100, y: 90 },
  ])
  assert.equal(panels[0]!.ideal.value, 95)
})

test('in a workload without a scarce resource, the table of unnecessary sheds shows the highest load', () => {
  const rows = [row('bare', 40, 0, 5000), row('bare', 200, 0, 5000, 4000)]
  const setup = { request: '', sloMs: 1000, timeoutMs: 0, durationMs: 13_000, rounds: 3, spacing: '', connections: '' }
  const measured: MeltMeasured & { besideRows: readonly Row[] } = {
    setup: { ...setup, window: { from: 1, to: 12 } },
    capacity: { rate: 1, before: 1, after: 1, drift: 0, users: 1, latencyP50Ms: 0 },
    spinPerMs: { before: null, after: null },
    ...{ steps: [], rows, besideRows: rows.map(each => ({ ...each, offered: 10, goodput: 10 })) },
  }
  const view = overloadView(measured, [{ name: 'bare', kind: 'bare' }], WORKLOADS['waiting']!, 'standing')
  assert.deepEqual(view.overviews![2]!.rows[0]!.cells.slice(1, 3), ['200x', '10.00 %'])
  assert.equal(view.plots[0]!.kind, 'points')
})
