import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { checkPlan } from '../../src/load/check-plan.ts'
import type { Phase, Schedule } from '../../src/load/plan.ts'
import { arrivalsOf, durationMs, expectedArrivals } from '../../src/load/schedule.ts'
import { planFor } from './plan-for.ts'

const all = (schedule: Schedule, worker = 0, workers = 1): number[] => {
  const times: number[] = []
  const arrivals = arrivalsOf(schedule, worker, workers)
  for (; arrivals.peek() !== Number.POSITIVE_INFINITY; arrivals.advance()) times.push(arrivals.peek())
  return times
}

const rate = fc.double({ min: 0, max: 2000, noNaN: true })
const lengthMs = fc.double({ min: 1, max: 3000, noNaN: true })
const phase: fc.Arbitrary<Phase> = fc.oneof(
  fc.record({ kind: fc.constant('constant' as const), rate, durationMs: lengthMs }),
  fc.record({ kind: fc.constant('ramp' as const), fromRate: rate, toRate: rate, durationMs: lengthMs }),
)
const schedule: fc.Arbitrary<Schedule> = fc.record({
  phases: fc.array(phase, { minLength: 1, maxLength: 3 }),
  spacing: fc.constantFrom('even' as const, 'poisson' as const),
  seed: fc.nat(),
})

describe('arrivalsOf(schedule)', () => {
  it('spaces a constant rate evenly', () => {
    const times = all({ phases: [{ kind: 'constant', rate: 1000, durationMs: 10_000 }], spacing: 'even', seed: 1 })
    assert.equal(times.length, 10_000)
    times.forEach((time, k) => {
      assert.ok(Math.abs(time - (k + 0.5)) < 1e-6, `arrival ${k} at ${time}`)
    })
  })

  it('counts arrivals exactly in spite of floating-point rounding', () => {
    // 0.1 * 30 is 3.0000000000000004
    const times = all({ phases: [{ kind: 'constant', rate: 0.1, durationMs: 30_000 }], spacing: 'even', seed: 1 })
    assert.equal(times.length, 3)
  })

  it('follows the parabola of a ramp from zero', () => {
    // R(t) = 50 t^2 for t in seconds, so arrival k is due at sqrt((k + 1/2) / 50) s
    const times = all({
      phases: [{ kind: 'ramp', fromRate: 0, toRate: 100, durationMs: 1000 }],
      spacing: 'even',
      seed: 1,
    })
    assert.equal(times.length, 50)
    times.forEach((time, k) => {
      assert.ok(Math.abs(time - 1000 * Math.sqrt((k + 0.5) / 50)) < 1e-6)
    })
  })

  it('is monotonic and within its duration', () => {
    fc.assert(
      fc.property(schedule, given => {
        const times = all(given)
        const end = durationMs(given) * (1 + 1e-9)
        for (let k = 0; k < times.length; k++) {
          assert.ok(times[k]! >= (times[k - 1] ?? 0) && times[k]! <= end, `arrival ${k} at ${times[k]}`)
        }
      }),
    )
  })

  it('has as many arrivals as the integral of the rate, if spaced evenly', () => {
    fc.assert(
      fc.property(schedule, given => {
        const count = all({ ...given, spacing: 'even' }).length
        assert.ok(Math.abs(count - expectedArrivals(given)) <= 0.5 + 1e-6)
      }),
    )
  })

  it('places each arrival where the integral of the rate reaches its number', () => {
    fc.assert(
      fc.property(rate, rate, lengthMs, (fromRate, toRate, ms) => {
        const times = all({ phases: [{ kind: 'ramp', fromRate, toRate, durationMs: ms }], spacing: 'even', seed: 1 })
        times.forEach((t, k) => {
          const before = (fromRate * t + ((toRate - fromRate) * t * t) / (2 * ms)) / 1000
          assert.ok(Math.abs(before - (k + 0.5)) < 1e-5, `${before} expected before arrival ${k}`)
        })
      }),
    )
  })

  it('divides the arrivals among workers exactly', () => {
    fc.assert(
      fc.property(schedule, fc.integer({ min: 1, max: 7 }), (given, workers) => {
        const parts = Array.from({ length: workers }, (_, worker) => all(given, worker, workers))
        assert.deepEqual(
          parts.flat().sort((a, b) => a - b),
          all(given),
        )
        const sizes = parts.map(part => part.length)
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1)
      }),
    )
  })

  it('repeats with the same seed and differs with another', () => {
    const poisson = (seed: number): Schedule => ({
      phases: [{ kind: 'constant', rate: 100, durationMs: 1000 }],
      spacing: 'poisson',
      seed,
    })
    assert.deepEqual(all(poisson(7)), all(poisson(7)))
    assert.notDeepEqual(all(poisson(7)), all(poisson(8)))
    assert.notDeepEqual(all(poisson(7)), all(poisson(7 + 2 ** 32)))
  })

  it('is a Poisson process: mean and variance of counts agree, and gaps are exponential', () => {
    const times = all({
      phases: [{ kind: 'constant', rate: 1000, durationMs: 200_000 }],
      spacing: 'poisson',
      seed: 42,
    })
    // There are 20,000 windows of 10 ms with 10 expected arrivals each. The margins are over five standard errors.
    const counts = new Array<number>(20_000).fill(0)
    for (const time of times) counts[Math.min(19_999, Math.floor(time / 10))]!++
    const mean = counts.reduce((sum, n) => sum + n, 0) / counts.length
    const variance = counts.reduce((sum, n) => sum + (n - mean) ** 2, 0) / counts.length
    assert.ok(Math.abs(mean - 10) < 0.12, `mean ${mean}`)
    assert.ok(Math.abs(variance - 10) < 0.6, `variance ${variance}`)
    const long = times.filter((time, k) => k > 0 && time - times[k - 1]! > 1).length / times.length
    assert.ok(Math.abs(long - Math.exp(-1)) < 0.006, `share of gaps over the mean ${long}`)
  })

  it('skips phases in which nothing is due', () => {
    const times = all({
      phases: [0, 10, 0, 10].map(rate => ({ kind: 'constant', rate, durationMs: 100 })),
      spacing: 'even',
      seed: 1,
    })
    assert.deepEqual(times.map(Math.round), [150, 350])
  })
})

it('checkPlan(plan) refuses an invalid schedule, and names the option, the range and the value', () => {
  const check = (phases: readonly Phase[], more: Partial<Schedule> = {}): void => {
    const schedule: Schedule = { phases, spacing: 'even', seed: 1, ...more }
    checkPlan(planFor('http://127.0.0.1/', { arrival: { kind: 'open', schedule } }))
  }
  const bad = (...schedule: Parameters<typeof check>) => assert.throws(() => check(...schedule), RangeError)
  bad([])
  bad([{ kind: 'constant', rate: -1, durationMs: 1000 }])
  bad([{ kind: 'constant', rate: Number.NaN, durationMs: 1000 }])
  bad([{ kind: 'constant', rate: 1, durationMs: 0 }])
  bad([{ kind: 'ramp', fromRate: 1, toRate: Number.POSITIVE_INFINITY, durationMs: 1000 }])
  bad([{ kind: 'constant', rate: 1, durationMs: 1000 }], { seed: 0.5 })
  assert.throws(
    () => check([{ kind: 'constant', rate: 2e6, durationMs: 1 }]),
    /schedule\.phases\[0\]\.rate must be from 0 to 1000000 arrivals\/s, got 2000000/,
  )
})
