/** The timeouts scenario: its pure parts, and its whole brief form, with wide ratios only. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoadFigures } from '../../src/report/load-figures.ts'
import { numberStats } from '../../src/report/number-stats.ts'
import { compareMemory } from '../../src/scenarios/equal-memory.ts'
import { heapBetween } from '../../src/scenarios/heap-file.ts'
import { timeouts } from '../../src/scenarios/timeouts.ts'
import { timeoutsExpects } from '../../src/scenarios/timeouts-expects.ts'
import type { ClosedRun, OpenRun, TimeoutsMeasured } from '../../src/scenarios/timeouts-measured.ts'
import { isQuiet } from '../quiet-machine.ts'
import { foreignOf, runCommand } from './run-command.ts'

/** The published run with a timeout of 3 s. */
const published: LoadFigures = {
  durationMs: 180_000,
  elapsedMs: 186_500,
  scheduled: 232_825,
  sent: 232_825,
  unsent: 0,
  answered: { '200': 209_861, '500': 22_964 },
  failed: {},
  ok: 209_861,
  good: 200_000,
  okMs: { min: 100, mean: 780, p50: 700, p90: 1200, p95: 1500, p99: 1900, p999: 3000, max: 3100 },
  allMs: { min: 100, mean: 1000, p50: 700, p90: 1200, p95: 3048, p99: 3070, p999: 3600, max: 3670 },
  bytesRead: 1_259_166,
  seconds: [],
}

test('numberStats() has count, minimum, maximum, mean and last value, or is undefined without numbers', () => {
  assert.equal(numberStats([]), undefined)
  assert.deepEqual(numberStats([3, 4, 5, 4]), { count: 4, min: 3, max: 5, mean: 4, last: 4 })
})

test('memory is compared only at equal throughput', () => {
  const run = (throughput: number, rssMeanBytes: number, heapMeanBytes: number | null = null) => ({
    name: `${throughput}/s`,
    throughput,
    rssMeanBytes,
    heapMeanBytes,
  })
  const equal = compareMemory(run(1000, 200e6, 212e6), run(990, 100e6, 149e6))
  assert.ok(equal.comparable)
  assert.equal(equal.rss, 0.5)
  assert.ok(Math.abs(equal.heap! - 0.297) < 0.001)
  // The published comparison: 194 against 205 MB, at 853.93 and 1125.26 requests/s.
  const unequal = compareMemory(run(853.93, 194e6), run(1125.26, 205e6))
  assert.ok(!unequal.comparable)
  assert.match(unequal.why, /not compared.*854.*1,125/)
  assert.equal(compareMemory(run(0, 1), run(0, 1)).comparable, false)
})

test('heapBetween() returns the readings inside a window, without an incomplete last line', () => {
  assert.deepEqual(heapBetween('10 100\n20 200\n30 300\n40 4', 15, 40), [200, 300])
})

const closed = (arm: string, faulty: boolean, okPerSecond: number, availability: number): ClosedRun => ({
  ...open(arm, 3000, 0),
  users: 1000,
  faulty,
  okPerSecond,
  takenPerSecond: okPerSecond / availability,
  availability,
})
const open = (arm: string, p99: number, pendingMean: number): OpenRun => ({
  arm,
  label: arm,
  printout: '',
  rate: 1000,
  window: { from: 0, to: 1 },
  figures: { ...published, allMs: { ...published.allMs, p99 } },
  pending: [],
  pendingMean,
  rss: null,
  cpuPerOkMs: null,
  rssLine: [],
  heap: null,
})
const measured = (more: Partial<TimeoutsMeasured> = {}): TimeoutsMeasured => ({
  limitMs: 3000,
  faultMs: 10_000,
  users: 1000,
  rate: 1000,
  answerMs: 100,
  faultEvery: 10,
  closed: [
    closed('bare', false, 1280, 1),
    closed('bare', true, 850, 1),
    closed('naive timeout', true, 1120, 0.9),
    closed('meltproof', true, 1240, 0.9),
  ],
  open: [open('bare', 10_100, 1090), open('naive timeout', 3050, 390), open('meltproof', 3040, 360)],
  ...more,
})
const passes = (of: TimeoutsMeasured): (boolean | undefined)[] => timeoutsExpects.map(each => each.judge(of)?.pass)

test('expectations pass for good figures, fail for bad ones, and are not judged without figures', () => {
  assert.deepEqual(passes(measured()), [true, true, true, true, true])
  assert.deepEqual(passes(timeouts.blank() as TimeoutsMeasured), [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  const slow = measured({
    open: [open('bare', 10_100, 1090), open('naive timeout', 1, 1), open('meltproof', 3101, 500)],
  })
  assert.deepEqual(passes(slow), [true, true, false, false, true])
  const weak = measured()
  weak.closed[3] = closed('meltproof', true, 1150, 0.9)
  assert.equal(passes(weak)[1], false)
  weak.closed[3] = closed('meltproof', true, 1280, 0.5)
  assert.equal(passes(weak)[1], false)
})

test('an interrupted run has a view', () => {
  const half = measured()
  half.closed.splice(2)
  half.open.splice(0)
  const view = timeouts.view(half)
  assert.match(view.finding, /2 of 8 runs/)
  assert.equal(view.tables.length, 1)
})

test('a healthy run without responses leads to no NaN', () => {
  for (const okPerSecond of [0, 850]) {
    const idle = measured({ closed: [closed('bare', false, 0, 1), closed('meltproof', true, okPerSecond, 0.9)] })
    idle.closed.push(closed('bare', true, 0, 1), closed('naive timeout', true, 0, 1))
    const says = [timeouts.view(idle), timeoutsExpects.map(each => each.judge(idle))]
    assert.doesNotMatch(JSON.stringify(says), /NaN|undefined|Infinity/)
  }
})

test('in the brief form, the timeouts hold, and bare waits for the fault', async () => {
  const { result, stdout } = await runCommand('timeouts')
  const found = result.measured as TimeoutsMeasured
  assert.equal(found.closed.length, 5)
  assert.equal(found.open.length, 3)
  const of = (arm: string) => found.open.find(run => run.arm === arm)!
  assert.ok(of('bare').figures.allMs.p99! > found.faultMs * 0.9)
  for (const arm of ['naive timeout', 'meltproof']) {
    const { figures } = of(arm)
    // On a busy machine, answers may miss the limit of 400 ms, and all may be as late as the fault.
    if (!isQuiet(foreignOf(result))) continue
    assert.ok(figures.allMs.p99! < found.faultMs * 0.9, `${arm}: ${figures.allMs.p99} ms`)
    const share = figures.ok / figures.scheduled
    assert.ok(share > 0.8 && share < 0.95, `${arm}: ${figures.ok} of ${figures.scheduled}`)
  }
  assert.ok((of('meltproof').figures.answered['504'] ?? 0) > 0)
  for (const run of [...found.closed, ...found.open]) {
    assert.ok(run.rssLine.length > 3 && run.heap !== null && run.heap.min > 1e6, run.arm)
  }
  assert.match(stdout, /"kind":"scenario"/)
})
