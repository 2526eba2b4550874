/** Invariants of every limiter under any events, and evidence that the rivals are implemented fairly. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { goodRate } from '../../sim/figures.ts'
import { LIMITERS } from '../../sim/limiters/all.ts'
import { pool50 } from '../../sim/scenarios.ts'
import { quantile, simulate } from '../../sim/service.ts'
import type { Ticket } from '../../src/admission/limiter/cohorts.ts'
import { fixedLimit } from '../../src/admission/limiter/limiter.ts'
import { LIMITER_TUNING } from '../../src/admission/limiter/tuning.ts'

const event = fc.oneof(
  { weight: 6, arbitrary: fc.constant('admit' as const) },
  {
    weight: 5,
    arbitrary: fc.record({ leaves: fc.nat(), how: fc.constantFrom('completed', 'completed', 'completed', 'dropped') }),
  },
  { weight: 1, arbitrary: fc.constantFrom('limitReached', 'limitCleared', 'tick') },
  // Multiples of a quarter of a millisecond, which are exact.
  {
    weight: 3,
    arbitrary: fc.record({ passes: fc.nat(800).map(quarters => quarters / 4), busy: fc.constantFrom(0, 0.5, 1) }),
  },
  { weight: 1, arbitrary: fc.record({ passes: fc.nat(20_000), busy: fc.constantFrom(0, 1) }) },
)

for (const [name, make] of Object.entries(LIMITERS)) {
  test(`${name}: the limit is a whole number of at least one after any sequence of events`, () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 400, size: 'max' }), events => {
        let [nowMs, busyMs] = [0, 0]
        const inService: { readonly startedAt: number; readonly ticket: Ticket | undefined }[] = []
        const limiter = make(
          () => busyMs,
          () => busyMs,
        )
        for (const each of events) {
          if (each === 'admit') {
            limiter.admitted(nowMs)
            inService.push({ startedAt: nowMs, ticket: limiter.ticket })
          } else if (typeof each === 'string') limiter[each](nowMs)
          else if ('passes' in each) {
            nowMs += each.passes
            busyMs += each.passes * each.busy
          } else if (inService.length > 0) {
            const [{ startedAt, ticket }] = inService.splice(each.leaves % inService.length, 1) as [
              (typeof inService)[0],
            ]
            limiter[each.how](nowMs, nowMs - startedAt, ticket)
          }
          const { excess = 0, limit, uncounted = 0, usualLimit = limit } = limiter
          const figures = JSON.stringify({ excess, inService: inService.length, limit, uncounted, usualLimit })
          assert.ok(Number.isInteger(limit) && limit >= 1 && limit <= LIMITER_TUNING.max, figures)
          assert.ok(usualLimit >= limit, figures)
          assert.ok(uncounted >= 0 && uncounted <= inService.length, figures)
          assert.ok(excess >= 0 && excess <= inService.length, figures)
        }
      }),
    )
  })
}

describe('a pool of ten at three times its capacity', () => {
  for (const [name, limiter] of Object.entries(LIMITERS)) {
    if (name === 'no limit') continue
    test(`stays busy: ${name}`, () => {
      const result = simulate({ rate: () => 600, steps: pool50 }, { seconds: 40, seed: 1, limiter })
      assert.ok(goodRate(result, 20) >= 180, `${goodRate(result, 20)}/s`)
    })
  }
})

test('a fixed limit of ten keeps a pool of ten busy, with at most ten requests in service', () => {
  const result = simulate({ rate: () => 600, steps: pool50 }, { seconds: 10, seed: 1, limiter: () => fixedLimit(10) })
  assert.ok(goodRate(result, 2) >= 190)
  assert.ok(quantile(result.latencies, 0.5) < 120)
  assert.equal(result.mostInService, 10)
})

test('a fixed limit counts every request, however long it takes', () => {
  const rate = (): number => 100
  const steps = (random: { next(): number }): { readonly wait: number }[] => [{ wait: random.next() < 0.2 ? 1e6 : 5 }]
  const result = simulate({ rate, steps }, { seconds: 10, seed: 1, limiter: () => fixedLimit(10) })
  assert.equal(result.mostInService, 10)
  assert.equal(goodRate(result, 2), 0)
})
