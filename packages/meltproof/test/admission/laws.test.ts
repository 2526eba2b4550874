/** What every limit law promises, whatever it is told; and that the rivals are played in good faith. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ConcurrencyLimiter } from '../../src/admission/concurrency-limiter.ts'
import { LIMITER_TUNING } from '../../src/admission/limiter-tuning.ts'
import { fixedLimit } from '../../src/admission/limit.ts'
import { quantile, simulate } from '../../sim/service.ts'
import { goodRate } from '../../sim/figures.ts'
import { LAWS } from '../../sim/laws/all.ts'
import { pool50 } from '../../sim/scenarios.ts'

const event = fc.oneof(
  { weight: 5, arbitrary: fc.constant('admit' as const) },
  { weight: 4, arbitrary: fc.record({ serviceMs: fc.double({ min: 0, max: 20_000, noNaN: true }) }) },
  { weight: 1, arbitrary: fc.constantFrom('deserted', 'bound', 'unbound', 'tick', 'disturbed') },
  { weight: 3, arbitrary: fc.double({ min: 0, max: 3000, noNaN: true }) },
)

for (const [name, make] of Object.entries(LAWS)) {
  test(`${name}: the limit is a whole number of at least one, whatever happens`, () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 400 }), events => {
        let now = 0
        let busy = 0
        let inflight = 0
        const law = make(() => busy)
        for (const each of events) {
          if (typeof each === 'number') {
            now += each
            busy += each * (now % 1)
          } else if (each === 'admit') {
            law.admitted(now)
            inflight++
          } else if (typeof each === 'object' || each === 'deserted') {
            if (inflight === 0) continue
            inflight--
            if (each === 'deserted') law.deserted(now)
            else law.completed(now, each.serviceMs)
          } else law[each](now)
          assert.ok(Number.isInteger(law.limit) && law.limit >= 1 && law.limit <= LIMITER_TUNING.max, `${law.limit}`)
        }
      }),
    )
  })
}

describe('a pool of ten at three times its capacity, which every law was made for', () => {
  for (const [name, law] of Object.entries(LAWS)) {
    if (name === 'no limit') continue
    test(`${name} keeps it busy`, () => {
      const result = simulate({ rate: () => 600, steps: pool50 }, { seconds: 40, seed: 1, law })
      assert.ok(goodRate(result, 20) >= 180, `${goodRate(result, 20)}/s`)
    })
  }
})

test('a fixed limit keeps what it says', () => {
  const result = simulate({ rate: () => 600, steps: pool50 }, { seconds: 10, seed: 1, law: () => fixedLimit(10) })
  assert.ok(goodRate(result, 2) >= 190)
  assert.ok(quantile(result.latencies, 0.5) < 120)
})

test('the law stays within its bounds when told so', () => {
  const law = new ConcurrencyLimiter(() => 0, { ...LIMITER_TUNING, initial: 4, max: 8 })
  law.bound(0)
  for (let i = 0; i < 6; i++) law.admitted(i)
  for (let i = 6; i < 1000; i++) {
    law.admitted(i)
    law.completed(i + 0.5, 0.5)
  }
  assert.equal(law.limit, 8)
})
