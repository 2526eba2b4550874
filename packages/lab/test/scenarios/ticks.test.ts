/** The ticks scenario: its figures, and its brief form with all its processes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type TickRun, tickFigures } from '../../src/scenarios/ticks-figures.ts'
import { runCommand } from './run-command.ts'

describe('tickFigures()', () => {
  it('has the requested rate and no lateness if operations are on time', () => {
    const log = { atMs: [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000], elapsedMs: 1000 }
    assert.deepEqual(tickFigures(log, 10), { achieved: 10, lateP50Ms: 0, lateP99Ms: 0 })
  })

  it('has the achieved rate and the growing lateness of a timer that drifts', () => {
    const log = { atMs: Array.from({ length: 90 }, (_, index) => (index + 1) * 11), elapsedMs: 1000 }
    const { achieved, lateP50Ms, lateP99Ms } = tickFigures(log, 100)
    assert.deepEqual({ achieved, lateP50Ms, lateP99Ms }, { achieved: 90, lateP50Ms: 45, lateP99Ms: 90 })
  })

  it('has a rate of 1/s for one operation per second, in a run that ends half an interval after the last', () => {
    assert.equal(tickFigures({ atMs: [1001, 2002], elapsedMs: 2500 }, 1).achieved, 1)
  })

  it('has a rate of 0 and no lateness without operations', () => {
    assert.deepEqual(tickFigures({ atMs: [], elapsedMs: 100 }, 1), {
      achieved: 0,
      lateP50Ms: null,
      lateP99Ms: null,
    })
  })
})

it('the brief form measures every available arm at every rate', async () => {
  const { result } = await runCommand('ticks')
  const { runs, goMissing } = result.measured as { runs: TickRun[]; goMissing: string | null }
  const of = (arm: string): TickRun[] => runs.filter(run => run.arm === arm && run.condition === 'free')
  for (const arm of ['Node setInterval', 'meltlab', ...(goMissing === null ? ['Go ticker'] : [])]) {
    assert.deepEqual(
      of(arm).map(run => run.rate),
      [100, 1000],
    )
    // The rate that setInterval keeps on a busy machine is unknown.
    const least = arm === 'meltlab' ? 0.2 : 0
    for (const run of of(arm)) assert.ok(run.achieved > least * run.rate, `${arm}: ${run.achieved} of ${run.rate}`)
  }
  // On any machine, a schedule catches up with operations that setInterval loses.
  const at1000 = (arm: string): number => of(arm)[1]!.achieved
  assert.ok(at1000('meltlab') >= at1000('Node setInterval') * 0.95, JSON.stringify(runs))
})
