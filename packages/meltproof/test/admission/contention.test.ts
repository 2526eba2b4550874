/** Whether those in service wait for each other is told from what service took them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../sim/random.ts'
import { Contention } from '../../src/admission/limiter/contention.ts'
import { LIMITER_TUNING } from '../../src/admission/limiter/tuning.ts'

/** One after the other finds one more there; where they begin to wait for each other, when that is said. */
function kneeOf(serviceMs: (among: number, nth: number) => number, most = 120): number | undefined {
  const contention = new Contention(LIMITER_TUNING)
  for (let among = 1; among <= most; among++) {
    const knee = contention.completed(among, serviceMs(among, among), 0)
    if (knee !== undefined) return knee
  }
  return undefined
}

test('behind ten connections the eleventh waits', () => {
  const knee = kneeOf(among => Math.max(50, among * 5))
  assert.ok(knee !== undefined && knee >= 8 && knee <= 40, `${knee}`)
})

test('a slow kind without contention takes the same time at any concurrency', () => {
  assert.equal(
    kneeOf(() => 15_000),
    undefined,
  )
  const random = new Random(1)
  assert.equal(
    kneeOf(() => random.exponential(15_000), 1000),
    undefined,
  )
})

test('when everything becomes slower, requests that came among few are as slow', () => {
  assert.equal(
    kneeOf((_, nth) => (nth < 20 ? 5 : 200)),
    undefined,
  )
})
