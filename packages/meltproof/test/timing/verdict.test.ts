import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Shares } from '../../src/record.ts'
import { verdictOf } from '../../src/timing/verdict.ts'

const share = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e6, noNaN: true }))
const shares: fc.Arbitrary<Shares> = fc.record({
  loopMs: share,
  dependencyMs: share,
  networkMs: share,
  selfMs: share,
})

test('property: the verdict names a part with the largest share', () => {
  fc.assert(
    fc.property(shares, given => {
      const named = given[`${verdictOf(given)}Ms`]
      for (const other of Object.values(given)) assert.ok(other <= named)
    }),
  )
})

test('property: the verdict does not depend on the unit, and more of the same part does not change it', () => {
  fc.assert(
    fc.property(shares, fc.double({ min: 0.5, max: 100, noNaN: true }), (given, factor) => {
      const verdict = verdictOf(given)
      const scaled = Object.fromEntries(Object.entries(given).map(([part, ms]) => [part, ms * factor]))
      const most = Math.max(...Object.values(given))
      // Scaling rounds numbers, so two that differ in their last digits may become equal.
      assert.ok(given[`${verdictOf(scaled as unknown as Shares)}Ms`] >= most * (1 - 1e-9) - 1e-3)
      assert.equal(verdictOf({ ...given, [`${verdict}Ms`]: most + 1 }), verdict)
    }),
  )
})
