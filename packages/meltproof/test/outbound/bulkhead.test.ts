/** The bulkhead counts calls in flight per origin, and forgets origins without calls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Bulkhead } from '../../src/outbound/bulkhead.ts'

test('the bulkhead refuses a call over the limit, and admits a call again when another has ended', () => {
  const bulkhead = new Bulkhead()
  assert.equal(bulkhead.enter('a', 2), true)
  assert.equal(bulkhead.enter('a', 2), true)
  assert.equal(bulkhead.enter('a', 2), false)
  assert.equal(bulkhead.enter('b', 2), true)
  assert.equal(bulkhead.enter('a', false), true)
  bulkhead.leave('a')
  bulkhead.leave('a')
  assert.equal(bulkhead.enter('a', 2), true)
  assert.equal(bulkhead.inFlight('a'), 2)
})

test('property: the bulkhead never holds more calls than its limit, and none once all have ended', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ origin: fc.constantFrom('a', 'b', 'c'), enters: fc.boolean() }), { maxLength: 200 }),
      fc.integer({ min: 1, max: 5 }),
      (steps, limit) => {
        const bulkhead = new Bulkhead()
        const inside: string[] = []
        for (const { origin, enters } of steps) {
          if (enters) {
            const before = inside.filter(o => o === origin).length
            const place = bulkhead.enter(origin, limit)
            assert.equal(place, before < limit)
            if (place) inside.push(origin)
          } else {
            const at = inside.indexOf(origin)
            if (at >= 0) {
              inside.splice(at, 1)
              bulkhead.leave(origin)
            }
          }
          assert.equal(bulkhead.origins, new Set(inside).size)
        }
        for (const origin of inside) bulkhead.leave(origin)
        assert.equal(bulkhead.origins, 0)
      },
    ),
  )
})
