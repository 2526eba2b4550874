/** Criticality under overload, simulated: the lowest class is shed first, and per user rather than per request. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CRITICALITIES, type CriticalityAnswer } from '../../src/admission/queue/criticality.ts'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { goodRate } from '../../sim/figures.ts'
import { cpu5, pool50 } from '../../sim/scenarios.ts'
import { type SimResult, type SimTally, simulate } from '../../sim/service.ts'
import type { Workload } from '../../sim/workload.ts'

const SEEDS = [1, 2, 3]
const USERS = 300

function overloaded(
  steps: Workload['steps'],
  seed: number,
  criticality?: (user: number) => CriticalityAnswer,
  rate = 600,
): SimResult {
  const workload = { rate: () => rate, steps, users: USERS, ...(criticality === undefined ? {} : { criticality }) }
  return simulate(workload, { seconds: 40, seed, limiter: busyMs => new ConcurrencyLimiter(busyMs) })
}

const served = ({ good, offered }: SimTally): number => good / offered
/** The share of users that are sometimes served and sometimes shed. */
const flapping = (result: SimResult): number =>
  result.users.map(served).filter(share => share > 0.1 && share < 0.9).length / USERS

for (const [name, steps] of [
  ['cpu', cpu5],
  ['pool', pool50],
] as const) {
  describe(`${name} at three times its capacity`, () => {
    test('sheds the lowest classes first, and goodput stays', () => {
      for (const seed of SEEDS) {
        // Each class asks for three quarters of the capacity.
        const result = overloaded(steps, seed, user => CRITICALITIES[user % 4]!)
        const [best, second, third, last] = result.classes.map(served) as [number, number, number, number]
        assert.ok(best >= 0.96, `seed ${seed}: ${best} of critical_plus is served`)
        assert.ok(second >= 0.2 && second <= 0.45, `seed ${seed}: what is left goes to critical: ${second}`)
        assert.ok(third <= 0.03 && last <= 0.03, `seed ${seed}: ${third} of sheddable_plus, ${last} of sheddable`)
        assert.ok(goodRate(result, 2) >= 190, `seed ${seed}: ${goodRate(result, 2)}/s`)
      }
    })

    test('a user with a key is either served or shed, and does not flap', () => {
      for (const seed of SEEDS) {
        const alike = flapping(overloaded(steps, seed))
        const result = overloaded(steps, seed, user => ({ key: `user-${user}` }))
        assert.ok(alike > 0.9, `seed ${seed}: without keys ${alike} flap`)
        assert.ok(flapping(result) < 0.35, `seed ${seed}: with keys ${flapping(result)} flap`)
        assert.ok(goodRate(result, 2) >= 188, `seed ${seed}: ${goodRate(result, 2)}/s`)
      }
    })

    test('one class for all requests keeps goodput', () => {
      for (const seed of SEEDS) {
        const result = overloaded(steps, seed, () => 'sheddable')
        assert.ok(goodRate(result, 2) >= 190, `seed ${seed}: ${goodRate(result, 2)}/s`)
      }
    })

    test('below capacity, no class is shed', () => {
      for (const seed of SEEDS) {
        const result = overloaded(steps, seed, user => CRITICALITIES[user % 4]!, 140)
        assert.ok(result.shed / result.offered < 0.001, `seed ${seed}: ${result.shed} of ${result.offered}`)
      }
    })
  })
}
