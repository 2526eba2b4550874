/** Simulated instances that share the load evenly, and their number as Kubernetes sets it from the reported load. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { counts, replicas, replicasOf, TARGET } from '../../sim/autoscaler.ts'
import { PARSE } from '../../sim/scenario-parts.ts'
import { pool50 } from '../../sim/scenarios.ts'
import { simulate } from '../../sim/service.ts'
import type { Step } from '../../sim/workload.ts'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'

interface Service {
  readonly steps: () => Step[]
  /** Requests per second. */
  readonly capacity: number
  readonly poolSize?: number
}

const SLICES: Service = {
  steps: () => [1, 1, 1, 1, 1].flatMap((cpu, i): Step[] => (i === 0 ? [{ cpu }] : ['yield', { cpu }])),
  capacity: 1000 / (5 + PARSE),
}
const AROUND_A_WAIT: Service = {
  steps: () => [{ cpu: 1 }, { wait: 30 }, { cpu: 1 }],
  capacity: 1000 / (2 + PARSE),
}
const POOL: Service = { steps: pool50, capacity: 200 }

/** A fleet of 20. Each simulated instance stands for four. */
const FLEET = 20
const SIMULATED = 5
/** The load, in instances, for which the fleet has the right size. */
const OFFERED = FLEET * TARGET
/** The evaluations of an hour. */
const HOUR = 240

/** Mean load after five seconds at `times` the capacity, preceded by five seconds of overload. */
function meanLoad({ steps, capacity, poolSize = 10 }: Service, times: number, simulated = SIMULATED): number {
  const rate = (nowMs: number): number => (nowMs > 5000 ? times : 2) * capacity
  const limiter = (busyMs: () => number): ConcurrencyLimiter => new ConcurrencyLimiter(busyMs)
  const loads = Array.from(
    { length: simulated },
    (_, i) => simulate({ rate, steps, poolSize }, { seconds: 10, seed: 7 + i, limiter }).seconds.at(-1)!.load,
  )
  return loads.reduce((sum, load) => sum + load, 0) / simulated
}

describe('one evaluation of the autoscaler sets the right number of instances, within a tenth', () => {
  for (const [name, service, offered] of [
    ['five slices of CPU', SLICES, [0.3, 0.6, 1.5, 3, 10]],
    ['CPU around a wait', AROUND_A_WAIT, [0.3, 0.6, 1.5, 3, 10]],
    ['a pool of ten, overloaded', POOL, [1.5, 3, 10]],
  ] as const) {
    for (const times of offered) {
      test(`${name}, ${times}x`, () => {
        const right = (FLEET * times) / TARGET
        const got = replicas(FLEET, meanLoad(service, times))
        // Instances are whole, so one more or less is allowed.
        assert.ok(Math.abs(got - right) <= 0.1 * right + 1, `${got}, and ${right.toFixed(1)} are right`)
      })
    }
  }
})

describe('new pods that report no load yet or are idle do not change the number of pods', () => {
  const overloaded = [3, 3, 3, 3]
  const wanted = replicasOf(overloaded)
  for (const [name, load] of [
    ['are idle', 0],
    ['report no load yet', undefined],
  ] as const) {
    test(`new pods ${name}, and more are needed`, () => {
      for (let fresh = 1; fresh <= wanted - overloaded.length; fresh++) {
        const got = replicasOf([...overloaded, ...Array.from({ length: fresh }, () => load)])
        // Within a tenth of the target the number does not change.
        assert.ok(got <= wanted && got >= wanted / 1.1 - 1, `${got} of ${wanted} with ${fresh}`)
      }
    })
  }

  test('a single new pod does not remove others if the present number suffices', () => {
    assert.equal(replicasOf([0.7, 0.7, 0.7, undefined]), 4)
    assert.equal(replicasOf([0.9, 0.9, 0.9, 0]), 4)
  })
})

describe('behind a pool with underreported load, at most 10 % of the fleet is missing, and 0.5 % on average', () => {
  for (const [name, connections, ms] of [
    ['ten connections, 50 ms per request', 10, 50],
    ['twenty connections, 20 ms per request', 20, 20],
  ] as const) {
    test(name, () => {
      const pool: Service = {
        steps: () => [{ cpu: 0.1 }, { pool: ms }, { cpu: 0.1 }],
        capacity: (connections * 1000) / ms,
        poolSize: connections,
      }
      const told = new Map<number, number>()
      const loadOf = (count: number): number => {
        if (!told.has(count)) told.set(count, meanLoad(pool, OFFERED / count, 1))
        return told.get(count)!
      }
      assert.ok(loadOf(FLEET) < 0.65 * TARGET, 'it is told too little')
      const missing = [17, 18, 19, 20, 21].map(first =>
        counts(first, 4 * HOUR, loadOf).map(count => Math.max(0, 1 - count / OFFERED)),
      )
      const worst = Math.max(...missing.flat())
      assert.ok(worst <= 0.1, `${worst}`)
      for (const each of missing) {
        const shed = each.reduce((sum, share) => sum + share, 0) / each.length
        assert.ok(shed <= 0.005, `${shed}`)
      }
    })
  }
})
