/**
 * Loads with which meltproof once served fewer requests than the bare service: bursts, and what follows an overload.
 * Each runs bare and protected.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cold, MACHINES } from '../../sim/cold-starts.ts'
import { type Core, stolenSlices } from '../../sim/core.ts'
import { LIMITERS } from '../../sim/limiters/all.ts'
import type { Random } from '../../sim/random.ts'
import { CPU5, cpu5, waits } from '../../sim/scenarios.ts'
import { type SimResult, simulate } from '../../sim/service.ts'
import type { Cohort, Step, Workload } from '../../sim/workload.ts'

const SEEDS = [1, 2, 3, 4, 5]
const idle = (): number => 0
const burst = (clients: number, atMs = 1000, kind = 0): Cohort => ({ atMs, clients, requests: 1, kind: () => kind })

function both(workload: Workload, seconds: number, seed: number): { bare: SimResult; ours: SimResult } {
  const ours = simulate(workload, { seconds, seed, limiter: LIMITERS['meltproof'] })
  return { bare: simulate(workload, { seconds, seed, limiter: undefined }), ours }
}

const shedFrom = ({ seconds }: SimResult, second = 0): number =>
  seconds.slice(second).reduce((sum, { shed }) => sum + shed, 0)

describe('a burst at a service at rest', () => {
  it('of three seconds of work: about the first two seconds of it are answered', () => {
    for (const steps of [cpu5, (): Step[] => [{ cpu: 5 }]]) {
      const { bare, ours } = both({ rate: idle, steps, cohorts: [burst(600)] }, 8, 1)
      assert.ok(ours.good >= bare.good, `${ours.good} in time, bare ${bare.good}`)
      assert.ok(shedFrom(ours) <= 210, `${shedFrom(ours)} shed`)
    }
  })

  it('of 6,000 requests of 0.1 ms sheds none', () => {
    const { ours } = both({ rate: idle, steps: () => [{ cpu: 0.1 }], cohorts: [burst(6000)] }, 4, 1)
    assert.equal(shedFrom(ours), 0)
  })

  it('of requests that only wait sheds none, although others leave slowly', () => {
    const gateway: Workload = {
      rate: () => 100,
      steps: () => [],
      kinds: [
        { share: 1, steps: () => [{ cpu: 0.1 }, { wait: 500 }] },
        { share: 0, steps: () => [{ cpu: 0.8 }, { wait: 500 }] },
      ],
      cohorts: [burst(1000, 5000, 1)],
    }
    for (const seed of SEEDS) {
      const { bare, ours } = both(gateway, 10, seed)
      assert.equal(shedFrom(ours), 0, `seed ${seed}`)
      assert.ok(ours.good >= bare.good, `seed ${seed}: ${ours.good} in time, bare ${bare.good}`)
    }
  })

  it('of quick requests sheds none, although slow ones have just drained', () => {
    const workload: Workload = {
      rate: idle,
      steps: () => [],
      kinds: [
        { share: 1, steps: () => [{ cpu: 20 }] },
        { share: 1, steps: () => [{ cpu: 0.2 }] },
      ],
      cohorts: [burst(60), burst(400, 2750, 1)],
    }
    const { ours } = both(workload, 6, 1)
    assert.equal(shedFrom(ours), 0)
  })
})

describe('a dependency with room for all', () => {
  it('that hangs for four or five seconds sheds none after that', () => {
    for (const [rate, waitMs, hangMs] of [
      [100, 500, 5000],
      [200, 300, 4000],
    ] as const) {
      const endMs = 10_000 + hangMs
      const hangs = (nowMs: number): boolean => nowMs >= 10_000 && nowMs < endMs
      const steps = (_: unknown, nowMs: number): Step[] => [
        { cpu: 0.1 },
        { wait: waitMs + (hangs(nowMs) ? endMs - nowMs : 0) },
      ]
      for (const seed of SEEDS) {
        const { bare, ours } = both({ rate: () => rate, steps }, 30, seed)
        assert.equal(shedFrom(ours), 0, `seed ${seed}`)
        const points = (100 * (bare.good - ours.good)) / bare.offered
        assert.ok(points <= 2, `seed ${seed}: ${points} points below bare`)
      }
    }
  })

  it('serves 12,000 long polls and the short requests beside them', () => {
    const kinds = [
      { share: 8 / 9, steps: () => [{ cpu: 0.05 }, { wait: 30_000 }] },
      { share: 1 / 9, steps: () => [{ cpu: 0.2 }, { wait: 20 }] },
    ]
    const { ours } = both({ rate: () => 450, steps: () => [], kinds }, 45, 1)
    assert.equal(shedFrom(ours), 0)
    assert.equal(ours.kinds[1]!.good, ours.kinds[1]!.offered)
  })
})

it('after an overload, requests that stop using CPU and only wait are limited for a few seconds at most', () => {
  const steps = (_: unknown, nowMs: number): Step[] => (nowMs < 5000 ? cpu5() : waits(300))
  const limited = Array.from({ length: 60 }, (_, seed) => shedFrom(both({ rate: () => 600, steps }, 20, seed).ours, 12))
  assert.ok(limited.filter(shed => shed > 0).length <= 2, `${limited}`)
})

it('a cold start at the capacity costs hardly any answers', () => {
  let [bareGood, oursGood] = [0, 0]
  for (let seed = 1; seed <= 10; seed++) {
    const { bare, ours } = both(cold({ rate: () => CPU5, steps: () => [{ cpu: 5 }] }, MACHINES[0]!), 15, seed)
    bareGood += bare.good
    oursGood += ours.good
  }
  assert.ok(oursGood >= 0.99 * bareGood, `${oursGood} in time, bare ${bareGood}`)
})

describe('an overload from a cold start', () => {
  it('makes no answer late, although the pace of departures varies', () => {
    for (const seed of SEEDS) {
      const workload = cold({ rate: () => 1.5 * CPU5, steps: cpu5 }, MACHINES[0]!)
      const { bare, ours } = both(workload, 6, seed)
      const late = ours.seconds.reduce((sum, second) => sum + second.late, 0)
      assert.equal(late, 0, `seed ${seed}`)
      assert.ok(ours.good > 1.5 * bare.good, `seed ${seed}: ${ours.good} in time, bare ${bare.good}`)
    }
  })

  // Handlers begin with an asynchronous call, so starting them costs little, and hundreds would start within a turn's
  // budget.
  it('starts few requests before the busy loop is judged, and makes none late', () => {
    const steps = (): Step[] => ['yield', ...cpu5()]
    for (const seed of SEEDS) {
      const { ours } = both({ rate: () => 10 * CPU5, steps }, 6, seed)
      assert.ok(ours.mostInService <= 100, `seed ${seed}: ${ours.mostInService} in service`)
      assert.equal(ours.late, 0, `seed ${seed}`)
    }
  })

  it('keeps most of the capacity if another process has half of the core', () => {
    const steps = (): Step[] => ['yield', ...cpu5()]
    for (const seed of SEEDS) {
      const core = (random: Random): Core => stolenSlices(random, { everyMs: 4, forMs: 4 })
      const { ours } = both({ rate: () => 5 * CPU5, steps, core }, 6, seed)
      const kept = ours.good / (6 * (CPU5 / 2))
      assert.ok(kept > 0.7, `seed ${seed}: ${kept} of the capacity`)
    }
  })
})
