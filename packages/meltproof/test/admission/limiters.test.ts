/** What every limit limiter promises, whatever it is told; and that the rivals are played in good faith. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { LIMITER_TUNING } from '../../src/admission/limiter/tuning.ts'
import { fixedLimit } from '../../src/admission/limiter/limiter.ts'
import { quantile, simulate } from '../../sim/service.ts'
import { goodRate } from '../../sim/figures.ts'
import { LIMITERS } from '../../sim/limiters/all.ts'
import { pool50, poolOf } from '../../sim/scenarios.ts'

const event = fc.oneof(
  { weight: 5, arbitrary: fc.constant('admit' as const) },
  { weight: 4, arbitrary: fc.record({ serviceMs: fc.double({ min: 0, max: 20_000, noNaN: true }) }) },
  { weight: 1, arbitrary: fc.constantFrom('dropped', 'limitReached', 'limitCleared', 'tick', 'invalidated') },
  { weight: 3, arbitrary: fc.double({ min: 0, max: 3000, noNaN: true }) },
)

for (const [name, make] of Object.entries(LIMITERS)) {
  test(`${name}: the limit is a whole number of at least one, whatever happens`, () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 400 }), events => {
        let now = 0
        let busy = 0
        let inflight = 0
        const limiter = make(() => busy)
        for (const each of events) {
          if (typeof each === 'number') {
            now += each
            busy += each * (now % 1)
          } else if (each === 'admit') {
            limiter.admitted(now)
            inflight++
          } else if (typeof each === 'object' || each === 'dropped') {
            if (inflight === 0) continue
            inflight--
            if (each === 'dropped') limiter.dropped(now)
            else limiter.completed(now, each.serviceMs)
          } else limiter[each](now)
          assert.ok(
            Number.isInteger(limiter.limit) && limiter.limit >= 1 && limiter.limit <= LIMITER_TUNING.max,
            `${limiter.limit}`,
          )
        }
      }),
    )
  })
}

test('the service goes on while answers come, or the loop works', () => {
  let busy = 0
  const limiter = new ConcurrencyLimiter(() => busy)
  limiter.admitted(0)
  limiter.admitted(0)
  assert.equal(limiter.goesOn(LIMITER_TUNING.idleMs), true)
  assert.equal(limiter.goesOn(2 * LIMITER_TUNING.idleMs), false, 'all of it may hang')
  busy = 2000
  limiter.tick(2000)
  assert.equal(limiter.goesOn(2000), true, 'the loop has worked')
  limiter.completed(10_000, 100)
  assert.equal(limiter.goesOn(10_000 + LIMITER_TUNING.idleMs), true, 'an answer has come')
  assert.equal(limiter.goesOn(10_000 + 2 * LIMITER_TUNING.idleMs), false)
})

describe('a pool of ten at three times its capacity, which every limiter was made for', () => {
  for (const [name, limiter] of Object.entries(LIMITERS)) {
    if (name === 'no limit') continue
    test(`${name} keeps it busy`, () => {
      const result = simulate({ rate: () => 600, steps: pool50 }, { seconds: 40, seed: 1, limiter })
      assert.ok(goodRate(result, 20) >= 180, `${goodRate(result, 20)}/s`)
    })
  }
})

test('a fixed limit keeps what it says', () => {
  const result = simulate({ rate: () => 600, steps: pool50 }, { seconds: 10, seed: 1, limiter: () => fixedLimit(10) })
  assert.ok(goodRate(result, 2) >= 190)
  assert.ok(quantile(result.latencies, 0.5) < 120)
})

test('the limiter stays within its bounds when told so', () => {
  const limiter = new ConcurrencyLimiter(() => 0, { ...LIMITER_TUNING, initial: 4, max: 8 })
  limiter.limitReached(0)
  for (let i = 0; i < 6; i++) limiter.admitted(i)
  for (let i = 6; i < 1000; i++) {
    limiter.admitted(i)
    limiter.completed(i + 0.5, 0.5)
  }
  assert.equal(limiter.limit, 8)
})

test('a lower limit that is only being tried is not what the service is measured by', () => {
  const flooded = { rate: (nowMs: number) => (nowMs < 2500 ? 150 : 8), steps: () => poolOf(200), poolSize: 10 }
  const tried: number[] = []
  for (let seed = 1; seed <= 8; seed++) {
    const limiter = (busyMs: () => number): ConcurrencyLimiter => new ConcurrencyLimiter(busyMs)
    const { limiter: after } = simulate(flooded, { seconds: 6, seed, limiter })
    tried.push(after!.limit)
    assert.ok(after!.usualLimit! >= 10, `seed ${seed}: ${after!.usualLimit}`)
  }
  assert.ok(Math.min(...tried) < 10, `none was being tried: ${tried.join(', ')}`)
})
