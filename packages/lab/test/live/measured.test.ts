/** The report of a live run, from what the generator counted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram } from '../../src/load/histogram.ts'
import type { LoadOutcome, LoadSecond } from '../../src/load/plan.ts'
import { type LiveMeasured, type LiveSide, rowsOf, secondsOf } from '../../src/live/measured.ts'
import { liveView } from '../../src/live/view.ts'

const arms = [
  { name: 'bare', kind: 'bare' },
  { name: 'protected', kind: 'protected' },
] as const
const CAPACITY = 100
const loads = [0.5, 0.5, 0.5, null, 10, 10, 10, 10]

function second(at: number, scheduled: number, good: number): LoadSecond {
  const okLatency = new Histogram()
  for (let each = 0; each < good; each++) okLatency.record(20)
  return {
    ...{ second: at, scheduled, sent: scheduled, good },
    answered: { 200: good, 503: scheduled - good },
    failed: {},
    okLatency,
    shedLatency: new Histogram(),
  }
}

function side(arm: string, most: number): LiveSide {
  const seconds = loads.map((load, at) => {
    const due = (load ?? 5) * CAPACITY
    return second(at, due, Math.min(due, due > CAPACITY ? most : due))
  })
  return { arm, outcome: { seconds } as unknown as LoadOutcome }
}

const sides = [side('bare', 0), side('protected', 90)]
const measured = (over: Partial<LiveMeasured> = {}): LiveMeasured => ({
  setup: { request: 'GET /', connections: 'keep-alive', sloMs: 1000, timeoutMs: 2000, cores: 'one core' },
  capacity: { rate: CAPACITY, given: false },
  seconds: secondsOf(sides, loads, 1000),
  rows: rowsOf(sides, loads, 1000, CAPACITY),
  died: {},
  ...over,
})

test('of each load, the seconds after the first in which it was offered; the last one is not whole', () => {
  assert.deepEqual(
    measured().rows.map(row => [row.arm, row.load, row.seconds, row.offered, row.goodput, row.ofCapacity]),
    [
      ['bare', 0.5, 2, 50, 50, 0.5],
      ['bare', 10, 2, 1000, 0, 0],
      ['protected', 0.5, 2, 50, 50, 0.5],
      ['protected', 10, 2, 1000, 90, 0.9],
    ],
  )
  assert.equal(measured().seconds.length, 7)
  assert.equal(measured().seconds[4]!.sides['protected']!.admittedP99Ms, 20)
})

test('the finding is of the highest load, and names a process that ended', () => {
  const { finding, plots, tables } = liveView(measured(), arms)
  assert.equal(
    finding,
    'At 10x its capacity, the bare app gives 0 good answers a second (0 % of what it can do) and the protected one ' +
      'gives 90 good answers a second (90 % of what it can do).',
  )
  assert.equal(plots[0]!.title, 'Goodput against offered load')
  assert.equal(tables[0]!.rows.length, 4)
  assert.match(
    liveView(measured({ died: { bare: 'exited with code 7' } }), arms).finding,
    /the bare app gives .* until its process exited with code 7/,
  )
})

test('a run that ended before anything was held says so', () => {
  assert.equal(liveView(measured({ capacity: null }), arms).finding, 'Nothing was measured before the run ended.')
  const brief = liveView(measured({ rows: [] }), arms)
  assert.equal(brief.finding, 'No load was held long enough to say what it came to.')
  assert.deepEqual([brief.tables, brief.plots.length], [[], 3])
  assert.deepEqual(secondsOf(sides, [], 1000), [])
})
