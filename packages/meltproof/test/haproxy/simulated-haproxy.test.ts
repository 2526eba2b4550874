/** HAProxy, the agent, the gate and the limiter together, on a virtual clock. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LeastConnections } from '../../sim/fleet/balancers/least-connections.ts'
import { type Arm, type FleetResult, simulateFleet } from '../../sim/fleet/fleet.ts'
import { CPU5, cpu5, pool50, poolOf, waits } from '../../sim/scenarios.ts'
import { quantile } from '../../sim/service.ts'
import type { Workload } from '../../sim/workload.ts'

interface ProxySettings {
  readonly asksAgents?: boolean
  /** HAProxy's maxconn until the agent sends one. */
  readonly maxconn?: number
  readonly balancers?: number
}

/** Simulates a fleet of one member. */
function behind(
  { balancers = 1, ...settings }: ProxySettings,
  { rate, ...workload }: Workload,
  seconds: number,
): FleetResult {
  const front = (): ReturnType<Arm['front']> => ({ balancer: new LeastConnections(), mostQueued: 500, ...settings })
  const members = [{ ...workload, rate }]
  return simulateFleet({ seconds, rate, tiers: [{ members, balancers }] }, { name: 'HAProxy', protected: true, front })
}
/** The settings of deploy/haproxy/haproxy.cfg. */
const withAgent = (workload: Workload, seconds: number, settings: ProxySettings = {}): FleetResult =>
  behind({ asksAgents: true, maxconn: 20, ...settings }, workload, seconds)

const p99 = ({ latencies }: FleetResult): number => quantile(latencies, 0.99)
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const turnedAway = (result: FleetResult): number => sum(result.seconds.map(each => each.turnedAway))

const goodFrom = ({ seconds }: FleetResult, s: number): number => {
  const later = seconds.slice(s)
  return later.reduce((sum, { good }) => sum + good, 0) / later.length
}

describe('HAProxy with agent checks, simulated', () => {
  for (const times of [20, 50, 100]) {
    it(`serves 97 % of the capacity at ${times} times that load from the first second, with a p99 below 250 ms`, () => {
      const workload: Workload = { rate: () => times * CPU5, steps: cpu5 }
      const result = withAgent(workload, 6)
      const withoutAgent = behind({}, workload, 6)
      assert.ok(goodFrom(result, 0) >= 0.97 * CPU5, `${goodFrom(result, 0)}/s of ${CPU5}`)
      assert.ok(goodFrom(result, 0) > goodFrom(withoutAgent, 0), `${goodFrom(withoutAgent, 0)}/s without an agent`)
      assert.ok(p99(result) <= 250, `${p99(result)} ms`)
      const here = sum(result.seconds.map(({ shed }) => shed))
      assert.ok(here <= 0.005 * turnedAway(result), `turns away ${here} itself`)
    })
  }

  it('serves 97 % of the capacity with half of the core, with stalls of the loop, and after a cold start', () => {
    const rate = (): number => 50 * CPU5
    const slow = withAgent({ rate, steps: cpu5, core: () => (_, ms) => 2 * ms }, 8)
    assert.ok(goodFrom(slow, 0) >= 0.97 * (CPU5 / 2), `${goodFrom(slow, 0)}/s`)
    const stalls: [number, number][] = Array.from({ length: 4 }, (_, i) => [1500 + 2000 * i, 200])
    const stalled = withAgent({ rate, steps: cpu5, stalls }, 8)
    assert.ok(goodFrom(stalled, 0) >= 0.97 * 0.9 * CPU5, `${goodFrom(stalled, 0)}/s`)
    const cold = withAgent({ rate, steps: cpu5, warmUp: { times: 4, requests: 100 } }, 8)
    assert.ok(goodFrom(cold, 4) >= 0.97 * CPU5, `${goodFrom(cold, 4)}/s`)
  })

  it('serves at least 80 % of the capacity when overload begins after a calm, and when it alternates with calm', () => {
    const comes = withAgent({ rate: nowMs => (nowMs < 6000 ? 0.5 : 50) * CPU5, steps: cpu5 }, 12)
    // Requests that arrived before the agent sent a maxconn may be a burst, so they are admitted. They take up to two
    // seconds, and an answer after more than one second is late.
    assert.ok(goodFrom(comes, 8) >= 0.97 * CPU5, `${goodFrom(comes, 8)}/s`)
    assert.ok(goodFrom(comes, 6) >= 0.8 * CPU5, `${goodFrom(comes, 6)}/s`)
    const isOver = (nowMs: number): boolean => Math.floor(nowMs / 10_000) % 2 === 1
    const again = withAgent({ rate: nowMs => (isOver(nowMs) ? 30 : 0.3) * CPU5, steps: cpu5 }, 40)
    for (const [s, { good, shed, turnedAway }] of again.seconds.entries()) {
      // As above, requests that arrived before the agent sent a maxconn may be a burst, and take up to two seconds.
      if (isOver(s * 1000)) assert.ok(s % 10 < 3 || good >= 0.85 * CPU5, `${good} in second ${s}`)
      // Requests that waited at the end of the overload are served or shed in the first second.
      else if (s % 10 > 0) assert.equal(shed + turnedAway, 0, `in second ${s}`)
    }
  })

  it('serves 97 % of the capacity together with another balancer that gets the same maxconn', () => {
    const result = withAgent({ rate: () => 50 * CPU5, steps: cpu5 }, 8, { balancers: 2 })
    assert.ok(goodFrom(result, 0) >= 0.97 * CPU5, `${goodFrom(result, 0)}/s`)
    assert.ok(p99(result) <= 500, `${p99(result)} ms`)
  })

  it('keeps a pool full once its limit is known', () => {
    const result = withAgent({ rate: () => 2000, steps: pool50 }, 12)
    // HAProxy admits more until there is evidence of the pool, and the excess is late for a second or two.
    assert.ok(goodFrom(result, 0) >= 160, `${goodFrom(result, 0)}/s`)
    assert.ok(goodFrom(result, 5) >= 198, `${goodFrom(result, 5)}/s`)
  })

  it('passes a burst on to the service, which sheds none of it, also after an overload', () => {
    const burst = (nowMs: number): boolean => nowMs >= 14_000 && nowMs < 14_100
    const rate = (nowMs: number): number => (nowMs < 2000 ? 2000 : burst(nowMs) ? 1500 : 20)
    const result = withAgent({ rate, steps: cpu5 }, 17)
    assert.ok(turnedAway(result) > 1000, 'an overload')
    assert.deepEqual(new Set(result.seconds.slice(6).map(each => each.shed + each.turnedAway)), new Set([0]))
    assert.ok(result.seconds[14]!.offered > 120, 'a burst')
  })

  it('sheds none of a burst of 300 requests that the service can serve', () => {
    const rate = (nowMs: number): number => (nowMs >= 10_000 && nowMs < 10_100 ? 3000 : 40)
    const result = withAgent({ rate, steps: cpu5 }, 13)
    assert.equal(turnedAway(result), 0)
    assert.ok(sum(result.seconds.slice(10, 12).map(({ offered }) => offered)) > 200, 'a burst')
  })

  it('sheds no request below capacity', () => {
    for (const [rate, steps] of [
      [0.9 * CPU5, cpu5],
      [180, pool50],
    ] as const) {
      const { seconds } = withAgent({ rate: () => rate, steps }, 20)
      assert.deepEqual(
        seconds.filter(({ shed, turnedAway }) => shed + turnedAway > 0),
        [],
      )
    }
  })

  it('serves the capacity of handlers that never wait', () => {
    const workload: Workload = { rate: () => 5000, steps: () => [{ cpu: 1 }] }
    const result = withAgent(workload, 4)
    assert.ok(goodFrom(result, 2) >= 960, `${goodFrom(result, 2)}/s of about 970`)
    assert.ok(goodFrom(result, 2) > goodFrom(behind({}, workload, 4), 2))
  })

  it('is not held back by the maxconn of a predecessor if requests only wait', () => {
    const workload: Workload = { rate: () => 600, steps: () => waits(200) }
    assert.ok(goodFrom(behind({ maxconn: 12 }, workload, 12), 5) < 70, 'without an agent it is held')
    assert.ok(goodFrom(withAgent(workload, 12, { maxconn: 12 }), 5) > 570)
  })

  it('is not held back when a dependency becomes ten times faster', () => {
    const workload: Workload = {
      rate: () => 1500,
      steps: (_, nowMs) => (nowMs < 5000 ? pool50() : poolOf(5)),
    }
    const result = withAgent(workload, 12)
    assert.ok(goodFrom(result, 8) >= 1400, `${goodFrom(result, 8)}/s of 1500`)
  })
})
