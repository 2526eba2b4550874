import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { LoadOutcome } from '../../src/load/plan.ts'
import { isUnderLoad, median, rowsOf, summariseStep, windowOf } from '../../src/melt/summary.ts'
import { figuresTable } from '../../src/melt/view.ts'
import { type Made, madeMeasured, outcome, second } from './fixture.ts'

const watched = { samples: [], peakRssBytes: 0, cpuMs: 100, watchedMs: 3000 }
const summarise = (seconds: readonly Made[], more = {}) =>
  summariseStep({
    arm: 'bare',
    multiple: 2,
    round: 1,
    window: { from: 1, to: 3 },
    sloMs: 1000,
    outcome: outcome(
      seconds.map((made, at) => second(at, made)),
      more,
    ),
    watched,
    died: null,
    foreign: null,
    coreSpeed: () => null,
  })

test('the window starts after one second and ends with the schedule', () => {
  assert.deepEqual(windowOf(5000), { from: 1, to: 5 })
  assert.deepEqual(windowOf(2500), { from: 1, to: 2 })
})

test('the window counts as under load if the load continues for the SLO after the window', () => {
  const setup = (durationMs: number, afterMs: number) => ({
    durationMs,
    sloMs: 1000,
    window: windowOf(durationMs, afterMs),
  })
  assert.deepEqual(windowOf(6000, 1000), { from: 1, to: 5 })
  assert.equal(isUnderLoad(setup(6000, 1000)), true)
  assert.equal(isUnderLoad(setup(6000, 500)), true, 'the window has whole seconds')
  assert.equal(isUnderLoad(setup(6000, 0)), false)
})

test('only requests scheduled in the window count', () => {
  const step = summarise([
    { good: 100, okMs: 900 },
    { good: 10, okMs: 5 },
    { good: 20, late: 6, okMs: 5 },
    { good: 500 },
  ])
  assert.equal(step.goodput, 15)
  assert.equal(step.late, 3)
  assert.equal(step.offered, 18)
  assert.ok(step.admittedMs.max! < 6, 'the slow first second is outside')
  assert.equal(step.longestAnswerMs, 900)
})

test('a latency is certain unless the generator may have caused more than a tenth of it', () => {
  const seconds: Made[] = [{ good: 100 }, { good: 100 }, { good: 100 }]
  const sure = [20, 20] as const
  const step = (p50: readonly [number, number]) => {
    const ok = { mean: sure, p50, p90: sure, p95: sure, p99: sure, p999: sure, max: sure }
    const certificate = { code: 'late', doubts: ['late'], intervals: { ok } } as LoadOutcome['certificate']
    return summarise(seconds, { certificate })
  }
  assert.equal(step([18.5, 20]).doubtedMs, undefined)
  const doubted = step([12, 20])
  assert.deepEqual(doubted.doubtedMs, { p50: 8 })
  const rows = rowsOf([doubted], ['bare'], { rate: 100 })
  const { columns, rows: shown, note } = figuresTable(madeMeasured({ rows }))
  const cell = (column: string) => shown[0]!.cells[columns.indexOf(column)]
  assert.equal(cell('admitted p50'), '12 ms to 20 ms')
  assert.equal(cell('admitted p99'), '20 ms')
  assert.match(note!, /A latency from one figure to another is not certain: the load generator may have caused/)
  assert.doesNotMatch(figuresTable(madeMeasured()).note!, /certain/)
})

test('an interrupted run is averaged over the seconds it had', () => {
  assert.equal(summarise([{ good: 10 }, { good: 10 }], { incomplete: true }).goodput, 10)
})

test('a shed request answered after the SLO counts as late', () => {
  const step = summarise([{}, { shed: 10, shedMs: 2 }, { shed: 30, shedMs: 1500 }])
  assert.equal(step.shed, 20)
  assert.equal(step.shedLate, 15)
})

test('the outcomes of requests add up to what was offered', () => {
  const count = fc.nat(500)
  const made = fc.record({ good: count, late: count, shed: count, errors: count, failed: count, unsent: count })
  fc.assert(
    fc.property(fc.array(made, { minLength: 3, maxLength: 3 }), seconds => {
      const { offered, goodput, late, shed, otherStatus, failed, unsent } = summarise(seconds)
      assert.ok(Math.abs(goodput + late + shed + otherStatus + failed + unsent - offered) < 1e-9)
    }),
    { numRuns: 50 },
  )
})

test('a step without responses has no percentiles and no CPU time per response', () => {
  const step = summarise([{}, { failed: 5 }, { failed: 5 }])
  assert.deepEqual(step.admittedMs, { p50: null, p99: null, max: null })
  assert.equal(step.server.cpuPerAnswerUs, null)
  assert.equal(step.longestAnswerMs, null)
  assert.equal(JSON.parse(JSON.stringify(step)).failed, 5)
})

test('rows are medians over rounds, sorted by arm and load, without interrupted steps', () => {
  const step = (arm: string, multiple: number, good: number, incomplete = false) => ({
    ...summarise([{}, { good }, { good }]),
    arm,
    multiple,
    incomplete,
  })
  const steps = [
    step('protected', 6, 190),
    step('bare', 6, 1),
    step('bare', 2, 100),
    step('bare', 2, 140),
    step('bare', 2, 110),
    step('bare', 2, 999, true),
  ]
  const rows = rowsOf(steps, ['bare', 'protected', 'never ran'], { rate: 200 })
  assert.deepEqual(
    rows.map(row => [row.arm, row.multiple, row.goodput, row.ofCapacity, row.rounds]),
    [
      ['bare', 2, 110, 0.55, 3],
      ['bare', 6, 1, 0.005, 1],
      ['protected', 6, 190, 0.95, 1],
    ],
  )
})

test('median() is the middle value or the mean of the middle two, and null for an empty list', () => {
  assert.equal(median([]), null)
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([4, 1, 2, 3]), 2.5)
})
