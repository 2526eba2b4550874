import assert from 'node:assert/strict'
import { it } from 'node:test'
import { NamedStalls, stallText } from '../../src/culprit/named-stalls.ts'

const stall = (place: string, fromMs = 0, toMs = 500) =>
  ({
    ...{ fromMs, toMs, place, route: 'GET /a' },
    ...{ traceId: undefined, requestId: undefined, request: undefined },
  }) as const

it('stalled seconds are counted for each of 50 places, and for all others together', () => {
  const named = new NamedStalls()
  for (let i = 0; i < 60; i++) named.add(stall(`place ${i}`))
  named.add(stall('place 0'))
  const seconds = named.seconds()
  assert.equal(Object.keys(seconds).length, 51)
  assert.equal(seconds['place 0'], 1)
  assert.equal(seconds['other'], 5)
})

it('a place is reported once a minute, and at most 50 places a minute', () => {
  const named = new NamedStalls()
  assert.equal(named.isToBeSaid('a', 0), true)
  assert.equal(named.isToBeSaid('a', 59_999), false)
  assert.equal(named.isToBeSaid('a', 60_000), true)
  const said = Array.from({ length: 100 }, (_, i) => named.isToBeSaid(`place ${i}`, 60_001))
  assert.equal(said.filter(Boolean).length, 49)
})

it('explain() describes the last stall, and between() returns the stalls of a time', () => {
  const named = new NamedStalls()
  assert.equal(named.explain(0), 'The event loop has not stalled.')
  named.add(stall('a, src/a.js:1', 1000, 1500))
  assert.equal(named.explain(3500), 'The last stall of the event loop, 2.0 s ago: 500 ms for GET /a: a, src/a.js:1.')
  assert.equal(named.between(0, 1000).length, 0)
  assert.equal(named.between(1400, 1600).length, 1)
})

it('the text of a stall has the trace of its request, or else its id', () => {
  const a = stall('a, src/a.js:1')
  assert.equal(stallText({ ...a, requestId: '7b3e' }), '500 ms for GET /a (request 7b3e): a, src/a.js:1')
  assert.equal(stallText({ ...a, traceId: '0af7', requestId: '7b3e' }), '500 ms for GET /a (trace 0af7): a, src/a.js:1')
  assert.equal(stallText({ ...a, route: undefined }), '500 ms: a, src/a.js:1')
})
