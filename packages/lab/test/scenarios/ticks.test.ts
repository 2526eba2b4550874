/** The ticks scenario: its figures, and its brief form with everything it starts. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type TickRun, tickFigures } from '../../src/scenarios/ticks-figures.ts'
import { runCommand } from './run-command.ts'

describe('the figures of a run', () => {
  it('of operations on time are the rate asked for and no distance', () => {
    const log = { atMs: [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000], elapsedMs: 1000 }
    assert.deepEqual(tickFigures(log, 10), { achieved: 10, lateP50Ms: 0, lateP99Ms: 0 })
  })

  it('of a timer that drifts tell how far it came', () => {
    const log = { atMs: Array.from({ length: 90 }, (_, index) => (index + 1) * 11), elapsedMs: 1000 }
    const { achieved, lateP50Ms, lateP99Ms } = tickFigures(log, 100)
    assert.deepEqual({ achieved, lateP50Ms, lateP99Ms }, { achieved: 90, lateP50Ms: 45, lateP99Ms: 90 })
  })

  it('of one operation a second are one a second, as the run ends half an interval after the last one is due', () => {
    assert.equal(tickFigures({ atMs: [1001, 2002], elapsedMs: 2500 }, 1).achieved, 1)
  })

  it('of a run in which nothing happened are none, and zero', () => {
    assert.deepEqual(tickFigures({ atMs: [], elapsedMs: 100 }, 1), {
      achieved: 0,
      lateP50Ms: null,
      lateP99Ms: null,
    })
  })
})

it('the brief form measures every arm there is, in every condition', async () => {
  const { result } = await runCommand('ticks')
  const { runs, goMissing } = result.measured as { runs: TickRun[]; goMissing: string | null }
  const of = (arm: string): TickRun[] => runs.filter(run => run.arm === arm && run.condition === 'free')
  for (const arm of ['Node setInterval', 'meltlab', ...(goMissing === null ? ['Go ticker'] : [])]) {
    assert.deepEqual(
      of(arm).map(run => run.rate),
      [100, 1000],
    )
    // What an interval keeps on a busy machine is anybody's guess.
    const least = arm === 'meltlab' ? 0.2 : 0
    for (const run of of(arm)) assert.ok(run.achieved > least * run.rate, `${arm}: ${run.achieved} of ${run.rate}`)
  }
  // A schedule catches up what an interval loses, however busy the machine is.
  const at1000 = (arm: string): number => of(arm)[1]!.achieved
  assert.ok(at1000('meltlab') >= at1000('Node setInterval') * 0.95, JSON.stringify(runs))
})
