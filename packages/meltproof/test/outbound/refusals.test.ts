/** The effect of refusals on later calls, in virtual time. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { isGrpcRefusal, isRefusal } from '../../src/outbound/headers.ts'
import { RefusalLimit } from '../../src/outbound/refusal-limit.ts'
import { Refusals } from '../../src/outbound/refusals.ts'
import { byChance, offer, type Origin, processor, randomFrom, VirtualTime } from './refusing-origins.ts'

const SECONDS = 30

/**
 * Returns the good responses per second of callers with this fixed limit. Without a limit they use `adaptive`;
 * `Infinity` means no meltproof.
 */
function goodput(make: (time: VirtualTime) => Origin, perSecond: number, limit?: number, callers = 1): number {
  const time = new VirtualTime()
  const random = randomFrom(7)
  const origin = make(time)
  const outcomes = Array.from({ length: callers }, () => offer(time, origin, perSecond / callers, random, limit))
  time.run(SECONDS * 1000)
  return outcomes.reduce((sum, { good }) => sum + good, 0) / SECONDS
}

const bestFixed = (make: (time: VirtualTime) => Origin, perSecond: number, callers = 1): number =>
  Math.max(...[1, 2, 4, 8, 16, 32].map(limit => goodput(make, perSecond, limit, callers)))

describe('an origin that refuses excess calls', () => {
  for (const times of [3, 5, 9]) {
    test(`keeps 95 % of the goodput of the best fixed limit, at ${times} times its capacity`, () => {
      const make = (time: VirtualTime): Origin => processor(time, 20, 8)
      const [bare, best, adaptive] = [
        goodput(make, 50 * times, Number.POSITIVE_INFINITY),
        bestFixed(make, 50 * times),
        goodput(make, 50 * times),
      ]
      assert.ok(bare < 0.8 * best, `bare keeps ${bare}`)
      assert.ok(adaptive >= 0.95 * best, `${adaptive} of ${best}`)
    })
  }

  test('keeps 93 % of that goodput for any service time, capacity and cost of refusals', () => {
    fc.assert(
      fc.property(
        fc.record({
          workMs: fc.integer({ min: 2, max: 60 }),
          most: fc.integer({ min: 1, max: 40 }),
          cost: fc.constantFrom(0.02, 0.1, 0.2),
          times: fc.integer({ min: 2, max: 12 }),
        }),
        ({ workMs, most, cost, times }) => {
          // Where calls wait at the origin for more than a second, all responses are late under any limit.
          fc.pre(workMs * Math.min(most, 16) < 600)
          const make = (time: VirtualTime): Origin => processor(time, workMs, most, cost * workMs)
          const perSecond = (times * 1000) / workMs
          const best = bestFixed(make, perSecond)
          const adaptive = goodput(make, perSecond)
          assert.ok(adaptive >= 0.93 * best, `${adaptive} of ${best}`)
        },
      ),
      { numRuns: 25 },
    )
  })

  for (const callers of [2, 4, 12]) {
    test(`keeps most goodput with ${callers} separate callers`, () => {
      const make = (time: VirtualTime): Origin => processor(time, 20, 8)
      const best = bestFixed(make, 450, callers)
      const adaptive = goodput(make, 450, undefined, callers)
      assert.ok(adaptive >= (callers > 8 ? 0.8 * 50 : 0.95 * best), `${adaptive} of ${best}`)
    })
  }
})

test('an origin that refuses at random keeps most of its goodput without meltproof', () => {
  for (const [share, least] of [
    [0.95, 0.95],
    [0.8, 0.75],
    [0.3, 0.5],
  ] as const) {
    const make = (time: VirtualTime): Origin => byChance(time, share, randomFrom(3))
    const bare = goodput(make, 150, Number.POSITIVE_INFINITY)
    const adaptive = goodput(make, 150)
    assert.ok(adaptive >= least * bare, `${share}: ${adaptive} of ${bare}`)
  }
})

test('property: the limit is infinite or a whole number of at least 1, in any order of calls ending', () => {
  const step = fc.record({
    refused: fc.boolean(),
    afterMs: fc.nat(300),
    tookMs: fc.nat(400),
    inFlight: fc.integer({ min: 1, max: 200 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), steps => {
      const limit = new RefusalLimit()
      let nowMs = 1_000
      for (const { refused, afterMs, tookMs, inFlight } of steps) {
        nowMs += afterMs
        limit.ended(refused, nowMs - tookMs, inFlight, nowMs)
        assert.ok(limit.limit >= 1)
        assert.ok(limit.limit === Number.POSITIVE_INFINITY || Number.isInteger(limit.limit))
      }
    }),
  )
})

test('without refusals there is no limit', () => {
  const limit = new RefusalLimit()
  for (let ms = 0; ms < 10_000; ms++) limit.ended(false, ms, 500, ms + 1)
  assert.equal(limit.limit, Number.POSITIVE_INFINITY)
})

test('after 12 refusals in 16 calls, the limit is half of the calls in flight', () => {
  const limit = new RefusalLimit()
  for (let i = 0; i < 4; i++) limit.ended(false, 0, 16, 10)
  for (let i = 0; i < 12; i++) limit.ended(true, 0, 16, 10)
  assert.equal(limit.limit, 8)
})

describe('refusals by route', () => {
  test('hold back the only route that is refused, and set no limit for its origin', () => {
    const refusals = new Refusals()
    let held = 0
    for (let ms = 0; ms < 20_000; ms += 10) {
      if (refusals.refuses('GET /work', ms, Math.random())) assert.fail('it is served')
      refusals.served('GET /work', ms)
      refusals.ended('GET /work', false, ms, 5, ms)
      if (refusals.refuses('GET /quota', ms, Math.random())) {
        held++
        continue
      }
      refusals.refused('GET /quota', ms)
      refusals.ended('GET /quota', true, ms, 5, ms)
      if (ms > 1_000) assert.equal(refusals.limit, Number.POSITIVE_INFINITY)
    }
    assert.ok(held > 1_700, `${held} of 2000 held back`)
  })

  test('are kept for at most 33 routes, even if clients make up paths', () => {
    const refusals = new Refusals()
    for (let i = 0; i < 10_000; i++) refusals.refused(`GET /${i}`, i)
    assert.equal(refusals.refuses('GET /new', 10_000, 0), false, 'one goes out')
    assert.equal(refusals.refuses('GET /newer', 10_000, 0), true, 'routes beyond share one')
    const refused = Array.from({ length: 10_000 }, (_, i) => refusals.refuses(`GET /${i}`, 10_000, 0))
    assert.equal(refused.filter(each => !each).length, 32, 'one goes out of each route that shares with none')
    refusals.served('GET /a', 100_000)
    for (let i = 0; i < 10; i++) refusals.refused('GET /b', 100_000)
    assert.equal(refusals.refuses('GET /a', 100_000, 0), false)
  })
})

describe('isRefusal()', () => {
  for (const [what, status, headers] of [
    ['counts 503', 503, {}],
    ['counts 429', 429, {}],
    ['counts x-envoy-ratelimited of gRPC', 200, { 'x-envoy-ratelimited': 'true' }],
    ['counts x-envoy-ratelimited with 4xx', 420, ['X-Envoy-RateLimited', 'true']],
    ['counts UNAVAILABLE', 200, { 'grpc-status': '14' }],
    ['counts RESOURCE_EXHAUSTED, raw', 200, [Buffer.from('grpc-status'), Buffer.from('8')]],
  ] as const) {
    test(what, () => assert.equal(isRefusal(status, headers), true))
  }
  for (const [what, status, headers] of [
    ['does not count 500', 500, {}],
    ['does not count a failure after spent retries', 500, { 'x-envoy-ratelimited': 'true' }],
    ['does not count 404', 404, {}],
    ['does not count 200', 200, { 'grpc-status': '0' }],
    ['does not count another grpc-status', 200, { 'grpc-status': '4' }],
  ] as const) {
    test(what, () => assert.equal(isRefusal(status, headers), false))
  }
  test('isGrpcRefusal() recognises UNAVAILABLE and RESOURCE_EXHAUSTED in trailers', () => {
    assert.equal(isGrpcRefusal({ 'grpc-status': '14' }), true)
    assert.equal(isGrpcRefusal(['grpc-status', '8']), true)
    assert.equal(isGrpcRefusal({}), false)
  })
})
