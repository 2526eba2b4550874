/** The fleet scenario: its texts on made-up figures, and its brief form behind a real HAProxy and a real Envoy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pictureSvg, plotSvg } from '../../src/report/plot-svg.ts'
import { changed } from '../../src/scenarios/fleet-instance.ts'
import { envoyProgram } from '../../src/scenarios/fleet-envoy.ts'
import { fleetExpects } from '../../src/scenarios/fleet-expects.ts'
import { needHaproxy } from '../../src/scenarios/fleet-haproxy.ts'
import {
  backAfter,
  capacityAfter,
  type FleetMeasured,
  type FleetPhase,
  type FleetRun,
  fleetCapacity,
  sumOf,
} from '../../src/scenarios/fleet-measured.ts'
import { searchCapacities } from '../../src/scenarios/fleet-run.ts'
import { arms, fleetView } from '../../src/scenarios/fleet-view.ts'
import { capacityFrom } from '../../src/scenarios/searched-capacity.ts'
import { skipWithout } from './balancers.ts'
import { contextAt } from './fake-context.ts'
import { runCommand } from './run-command.ts'

const second = (good: number) => ({ due: 100, good, shed: 0, failed: 0, sent: [30, 30, 30, 10] })

/** 100 requests are due in each second, and `good` of them are good. */
const phase = (good: readonly number[], more: Partial<FleetPhase> = {}): FleetPhase => ({
  ...{ due: 100 * good.length, good: good.reduce((sum, each) => sum + each, 0), shed: 0, bad: 0, p50Ms: 50, p99Ms: 90 },
  seconds: good.map(second),
  ...more,
})
const run = (arm: string, more: Partial<FleetRun> = {}): FleetRun => ({
  ...{ arm, steady: phase([100, 100]), change: phase([100, 100, 90, 99, 98]) },
  ...more,
})
const measuredOf = (...runs: FleetRun[]): FleetMeasured => ({
  ...{ form: 'wait', capacities: [200, 200, 200, 50], changesAt: 2, missing: [], runs },
})
const passed = (...runs: FleetRun[]) => fleetExpects.map(({ judge }) => judge(measuredOf(...runs))?.pass)

test('the capacity of the fleet falls when one more instance becomes four times slower', () => {
  assert.equal(fleetCapacity(measuredOf()), 650)
  assert.equal(capacityAfter(measuredOf()), 500)
})

test('the fleet is back after two good seconds in a row', () => {
  const back = (...good: number[]) => backAfter(run('HAProxy told', { change: phase([0, 0, ...good]) }), 2)
  assert.equal(back(97, 97), 0)
  assert.equal(back(50, 97, 96, 98, 97), 3)
  assert.equal(back(50, 100), undefined)
})

test('each expectation fails on its own', () => {
  const told = 'HAProxy told'
  assert.deepEqual(passed(run(told)), [true, true, true, true, true])
  assert.deepEqual(passed(run(told, { steady: phase([96, 97]) })), [false, true, true, true, true])
  assert.deepEqual(passed(run(told, { steady: phase([100, 100], { shed: 2 }) })), [true, false, true, true, true])
  const late = phase([100, 100, 90, 90, 90, 90, 98, 98])
  assert.deepEqual(passed(run(told, { change: late })), [true, true, false, true, true])
  const rival = run('HAProxy leastconn', { change: phase([100, 100, 100, 100, 100]) })
  assert.deepEqual(passed(run(told), rival), [true, true, true, false, true])
  assert.deepEqual(passed(run('Envoy told'), rival), [true, true, true, true, true])
  assert.deepEqual(passed(run(told, { change: phase([100, 100, 98, 98], { bad: 1 }) })), [
    true,
    true,
    true,
    true,
    false,
  ])
  assert.deepEqual(passed(rival), [undefined, undefined, undefined, undefined, undefined])
})

test('the view has a panel for each arm, wide and narrow', () => {
  const { plots } = fleetView(measuredOf(...arms.map(({ name }) => run(name))))
  for (const svg of [pictureSvg(plots[0]!, arms, 'x'), plotSvg(plots[0]!, arms, ['wide', 'narrow'])]) {
    assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
    for (const { name } of arms) assert.match(svg, new RegExp(`>${name}<`))
  }
  assert.match(fleetView(measuredOf()).finding, /Nothing was measured/)
})

test('changed() refuses to replace a line that is not in the configuration', () => {
  assert.equal(changed('# bind :80\nbind :80', [['bind :80', 'bind :81']]), '# bind :80\nbind :81')
  assert.throws(() => changed('bind :81', [['bind :80', 'bind :82']]), /no 'bind :80' any more/)
})

test('the capacities are searched after a warm-up until the rate is steady, and until two sums agree', async () => {
  const sent = [0, 0]
  // The first load warms the service up before its share of the core is limited.
  const { context, labels, app, stopped } = contextAt([5, 100, 200, 210, 100, 300, 310], rate => {
    sent[0]! += rate / 4
    sent[1]! += (3 * rate) / 4
  })
  const balancer = { app, origin: 'http://balancer', sent: async () => [...sent], isComplete: async () => true }
  const held: string[] = []
  const fleet = { instances: [], hold: () => held.push(labels.join()), slower: async () => {} }
  const found = await searchCapacities(context, { start: async () => balancer }, async () => fleet, 'wait')
  assert.deepEqual(found, { sum: { searches: [100, 300, 310], isSteady: true }, capacities: [76.25, 228.75] })
  assert.deepEqual(held, ['warming up'])
  assert.deepEqual(labels, [...Array(4).fill('warming up'), ...Array(3).fill('what it can do')])
  assert.equal(stopped(), 1)
})

for (const form of ['wait', 'cpu'] as const) {
  test(`form ${form}: there is no verdict if the searches never agree, or if the capacity drifts until the end`, () => {
    const of = (...sums: FleetMeasured['sums'] & {}) =>
      fleetView({ ...measuredOf(run('HAProxy told')), form, sums }).unjudged
    const unjudged = (...all: number[][]) => of(...all.map(searches => ({ searches, isSteady: true })))
    assert.equal(unjudged([640, 660], [630, 650]), undefined)
    assert.match(unjudged([100, 300, 650, 800])!, /is not steady: .* 100, then 300, then 650, then 800\/s/)
    assert.match(unjudged([640, 660], [100, 300, 650, 800])!, /is not steady/)
    assert.match(unjudged([640, 660], [490, 510])!, /drifted by 30 % during the run, from 650, then 500\/s/)
    assert.match(of({ searches: [640, 660], isSteady: false })!, /still changed after the longest warm-up/)
  })
}

const options = skipWithout(() => {
  needHaproxy()
  envoyProgram()
})
test('the brief form measures a real HAProxy and a real Envoy', options, async context => {
  const { result, stderr } = await runCommand('fleet')
  const { runs, capacities, sums = [] } = result.measured as FleetMeasured
  assert.deepEqual(
    runs.map(({ arm }) => arm),
    ['HAProxy told', 'Envoy told'],
  )
  assert.equal(capacities.length, 4)
  assert.equal(sums.length, 2, 'before the first arm and after the last one')
  for (const { searches } of sums) assert.ok(searches.length >= 2 && searches.length <= 4, `${searches}`)
  assert.ok(Math.abs(sumOf(capacities) - capacityFrom(sums[0]!.searches)) < 1e-6)
  for (const { arm, steady, change } of runs) {
    for (const phase of [steady, change]) {
      assert.ok(phase.seconds.some(({ sent }) => sent.length === 4))
      // The machine may be busy, so the test does not check how many answers are in time. If no request was answered at
      // all, there is no verdict, and the command says why.
      if (phase.seconds.some(({ due, failed }) => due > failed)) continue
      context.diagnostic(`${JSON.stringify({ arm, phase })}\n${stderr.slice(-4000)}`)
      assert.ok(fleetView(result.measured as FleetMeasured).unjudged !== undefined)
    }
  }
})

test('there is no verdict if a balancer answered no request for a whole phase', () => {
  const seconds = [{ due: 100, good: 0, shed: 0, failed: 100, sent: [0, 0, 0, 0] }]
  const silent = run('Envoy told', { change: phase([0], { seconds }) })
  assert.match(
    fleetView(measuredOf(run('HAProxy told'), silent)).unjudged!,
    /phase of Envoy told no request was answered/,
  )
  assert.equal(fleetView(measuredOf(run('HAProxy told'))).unjudged, undefined)
})
