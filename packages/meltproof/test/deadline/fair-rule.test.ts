import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { creditDue } from '../../src/deadline/fair-rule.ts'

const STATE = { limitMs: 200, elapsedMs: 200, stalledMs: 0, givenMs: 0, creditCapMs: Number.POSITIVE_INFINITY }

test('without a stall the limit is not extended', () => {
  assert.equal(creditDue(STATE), 0)
  assert.equal(creditDue({ ...STATE, elapsedMs: 205 }), 0)
})

test('stalls extend the limit by their duration', () => {
  assert.equal(creditDue({ ...STATE, elapsedMs: 400, stalledMs: 300 }), 100)
  assert.equal(creditDue({ ...STATE, elapsedMs: 200, stalledMs: 50 }), 50)
})

test('after a long stall the extension is as long as the limit itself', () => {
  assert.equal(creditDue({ ...STATE, elapsedMs: 5000, stalledMs: 5000 }), 200)
})

test('an extension never goes beyond an inherited deadline', () => {
  assert.equal(creditDue({ ...STATE, elapsedMs: 250, stalledMs: 250, creditCapMs: 120 }), 70)
  assert.equal(creditDue({ ...STATE, elapsedMs: 400, stalledMs: 300, creditCapMs: 120 }), 0)
})

test('property: the extensions of a timer add up to at most its limit, however the loop stalls, and it ends', () => {
  const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 60, maxLength: 60 })
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 10_000 }), shares, (limitMs, stalledShare) => {
      let [elapsedMs, stalledMs, givenMs, waitMs] = [0, 0, 0, limitMs]
      for (const share of stalledShare) {
        elapsedMs += waitMs
        stalledMs += waitMs * share
        waitMs = creditDue({ ...STATE, limitMs, elapsedMs, stalledMs, givenMs })
        givenMs += waitMs
        assert.ok(givenMs <= limitMs)
        if (waitMs === 0) {
          const fair = elapsedMs - stalledMs
          assert.ok(fair > limitMs - 1.001 || givenMs > limitMs - 1.001, `gave up after ${fair} of ${limitMs}`)
          return
        }
      }
    }),
  )
})
