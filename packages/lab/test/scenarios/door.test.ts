/** The door scenario: its texts on made-up figures, and its brief form with a real HAProxy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needHaproxy } from '../../src/scenarios/fleet-haproxy.ts'
import { doorExpects } from '../../src/scenarios/door-expects.ts'
import { cellsOf, type DoorMeasured, type DoorRun } from '../../src/scenarios/door-measured.ts'
import { skipWithout } from './balancers.ts'
import { runCommand } from './run-command.ts'

const run = (arm: string, load: number, kept: number, more: Partial<DoorRun> = {}): DoorRun => ({
  ...{ arm, load, kept, capacity: 200, p50Ms: 150, p99Ms: 200, longestMs: 300, noAnswer: 0, good: [], maxconn: [] },
  ...more,
})
const passed = (measured: DoorMeasured): (boolean | undefined)[] =>
  doorExpects.map(({ judge }) => judge(measured)?.pass)

test('if HAProxy and the load share a core, the expectation is checked at 50x instead of 100x', () => {
  const runs = [run('told', 50, 0.91), run('told', 100, 0.8), run('static maxconn', 50, 0.85)]
  assert.deepEqual(passed({ ownCores: false, runs }), [true, true, true, true])
  assert.deepEqual(passed({ ownCores: true, runs }), [false, true, true, true])
})

test('a late response, a lost response and a better rival each fail an expectation', () => {
  const found = (...runs: DoorRun[]) => passed({ ownCores: false, runs })
  assert.deepEqual(found(run('told', 50, 0.95, { p99Ms: 251 })), [true, false, true, true])
  assert.deepEqual(found(run('told', 50, 0.95), run('told', 100, 0.9, { longestMs: 1001 })), [true, true, false, true])
  assert.deepEqual(found(run('told', 50, 0.95, { noAnswer: 1 })), [true, true, false, true])
  assert.deepEqual(found(run('told', 50, 0.95), run('untold', 50, 0.98)), [true, true, true, false])
  assert.deepEqual(found(run('direct', 50, 0.5)), [undefined, undefined, undefined, undefined])
})

test('rounds are merged to medians, but to the worst for the longest response and to the sum for lost ones', () => {
  const rounds = [0.9, 0.5, 0.8].map((kept, n) => run('told', 50, kept, { longestMs: 100 * n, noAnswer: n }))
  const [cell] = cellsOf({ ownCores: false, runs: rounds })
  assert.deepEqual([cell!.kept, cell!.longestMs, cell!.noAnswer], [0.8, 200, 3])
})

test('the brief form measures every arm behind a real HAProxy', skipWithout(needHaproxy), async () => {
  const { result } = await runCommand('door')
  const { runs } = result.measured as DoorMeasured
  assert.deepEqual(
    runs.map(({ arm }) => arm),
    ['direct', 'untold', 'static maxconn', 'told'],
  )
  // The machine may be busy, so the test does not check how many answers are in time.
  for (const { arm, longestMs } of runs) assert.ok(longestMs > 0, `${arm}: no answer`)
  assert.equal(runs[2]!.maxconn.at(-1)?.[1], 10)
  assert.ok(runs[3]!.maxconn.length > 0)
})
