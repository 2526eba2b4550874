/** HAProxy, the agent, the gate and the limiter together, on a virtual clock. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LeastConnections } from '../../sim/fleet/balancers/least-connections.ts'
import { type Arm, type FleetResult, simulateFleet } from '../../sim/fleet/fleet.ts'
import { CPU5, cpu5, pool50, poolOf, waits } from '../../sim/scenarios.ts'
import type { Workload } from '../../sim/workload.ts'

/** A fleet of one. */
function behind(asksAgents: boolean, { rate, ...workload }: Workload, seconds: number, maxconn?: number): FleetResult {
  const arm: Arm = {
    name: 'HAProxy',
    protected: true,
    front: () => ({
      balancer: new LeastConnections(),
      asksAgents,
      mostQueued: 50,
      ...(maxconn !== undefined && { maxconn }),
    }),
  }
  return simulateFleet({ seconds, rate, tiers: [{ members: [{ ...workload, rate }] }] }, arm)
}
const told = (workload: Workload, seconds: number, maxconn?: number): FleetResult =>
  behind(true, workload, seconds, maxconn)
const untold = (workload: Workload, seconds: number, maxconn?: number): FleetResult =>
  behind(false, workload, seconds, maxconn)

const goodFrom = ({ seconds }: FleetResult, s: number): number => {
  const later = seconds.slice(s)
  return later.reduce((sum, { good }) => sum + good, 0) / later.length
}

describe('the door that is told', () => {
  it('keeps the whole capacity at twenty times of it, and turns nearly all away itself', () => {
    const workload: Workload = { rate: () => 20 * CPU5, steps: cpu5 }
    const result = told(workload, 4)
    const without = untold(workload, 4)
    assert.ok(goodFrom(result, 2) >= 0.97 * CPU5, `${goodFrom(result, 2)}/s of ${CPU5}`)
    assert.ok(goodFrom(result, 2) > goodFrom(without, 2), `${goodFrom(without, 2)}/s untold`)
    // It is asked twice a second, and says a number at the second time.
    const here = result.seconds.reduce((sum, { shed }) => sum + shed, 0)
    assert.ok(here <= 20 * CPU5, `${here} in the service`)
  })

  it('keeps a pool full', () => {
    const result = told({ rate: () => 2000, steps: pool50 }, 10)
    assert.ok(goodFrom(result, 1) >= 198, `${goodFrom(result, 1)}/s`)
  })

  it('leaves a burst to the service, which has time for it, also after an overload', () => {
    const burst = (nowMs: number): boolean => nowMs >= 14_000 && nowMs < 14_100
    const rate = (nowMs: number): number => (nowMs < 2000 ? 2000 : burst(nowMs) ? 600 : 20)
    const result = told({ rate, steps: cpu5 }, 16)
    assert.ok(result.seconds.slice(0, 2).reduce((sum, { turnedAway }) => sum + turnedAway, 0) > 1000, 'an overload')
    assert.deepEqual(new Set(result.seconds.slice(5).map(({ shed, turnedAway }) => shed + turnedAway)), new Set([0]))
    assert.ok(result.seconds[14]!.offered > 40, 'a burst')
  })

  it('turns nobody away below capacity', () => {
    for (const [rate, steps] of [
      [0.9 * CPU5, cpu5],
      [180, pool50],
    ] as const) {
      const { seconds } = told({ rate: () => rate, steps }, 20)
      assert.deepEqual(
        seconds.filter(({ shed, turnedAway }) => shed + turnedAway > 0),
        [],
      )
    }
  })

  it('lets handlers that never wait work one by one', () => {
    const workload: Workload = { rate: () => 5000, steps: () => [{ cpu: 1 }] }
    const result = told(workload, 4)
    assert.ok(goodFrom(result, 2) >= 960, `${goodFrom(result, 2)}/s of about 970`)
    const without = untold(workload, 4)
    assert.ok(goodFrom(result, 2) > goodFrom(without, 2))
  })

  it('holds nobody by what a predecessor said, when requests wait for something with room for all', () => {
    const workload: Workload = { rate: () => 600, steps: () => waits(200) }
    assert.ok(goodFrom(untold(workload, 12, 12), 5) < 70, 'without an agent it is held')
    assert.ok(goodFrom(told(workload, 12, 12), 5) > 570)
  })

  it('holds nobody when a dependency gets ten times as fast', () => {
    const workload: Workload = {
      rate: () => 1500,
      steps: (_, nowMs) => (nowMs < 5000 ? pool50() : poolOf(5)),
    }
    const result = told(workload, 12)
    assert.ok(goodFrom(result, 8) >= 1400, `${goodFrom(result, 8)}/s of 1500`)
  })
})
