/** Results of simulated fleets, and bounds for fleets with agent checks or load reports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ArmName, ARMS } from '../../sim/fleet/arms.ts'
import { DEVELOPMENT } from '../../sim/fleet/development.ts'
import { simulateFleet } from '../../sim/fleet/fleet.ts'
import { right, scaled } from '../../sim/fleet/scaling.ts'
import { figuresOf, type FleetFigures } from '../../sim/fleet/scenario.ts'
import { POOL } from '../../sim/fleet/services.ts'

/** Runs the first seconds of a scenario. */
function figures(name: string, arm: ArmName, seconds: number): FleetFigures {
  const whole = DEVELOPMENT.find(each => each.name === name) ?? assert.fail(name)
  const scenario = { ...whole, seconds }
  return figuresOf(scenario, simulateFleet(scenario, ARMS[arm], 2))
}

for (const arm of ['haproxy-least', 'envoy'] as const) {
  test(`${arm}: four unequal instances keep 97 % of the ideal, and shed at most 0.5 %`, () => {
    const { good, shed } = figures('four unequal, a pool each', arm, 20)
    assert.ok(good >= 0.97 && shed <= 0.005, `${good}, ${shed}`)
  })

  test(`${arm}: goodput is back within three seconds after one instance becomes four times slower`, () => {
    const { backAfter } = figures('one of four gets four times slower, CPU', arm, 36)
    assert.ok(backAfter! <= 3, `${backAfter}`)
  })
}

test('an instance that answers 500 at once does not draw requests from others with load reports', () => {
  const { failed } = figures('one of eight answers 500 at once', 'envoy', 24)
  assert.ok(failed < 0.05, `${failed}`)
})

test('with round robin and no reports, a fleet sheds because of one slow instance', () => {
  const { shed } = figures('four unequal, CPU', 'round-robin', 15)
  assert.ok(shed > 0.1, `${shed}`)
})

test('an autoscaler on the load metric is within a tenth of the right number after one evaluation', () => {
  const count = scaled(POOL, ARMS['round-robin'], 'load', 2, 2, 1).at(-1)!
  assert.ok(Math.abs(count - right(2)) <= 0.1 * right(2), `${count}`)
})
