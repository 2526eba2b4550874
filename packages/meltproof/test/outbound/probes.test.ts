/** How often a hanging origin is probed while all of its permits are taken. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { now } from '../../src/clock.ts'
import { AdaptiveLimits, GatedCall } from '../../src/outbound/adaptive.ts'

const ignore = (): void => undefined

/** A call that requests a permit at the given time. Its outcome does not matter here. */
function callAt(arrivedAt: number): GatedCall {
  const call = Object.create(GatedCall.prototype) as GatedCall
  const asks = { arrivedAt, answerBy: Number.POSITIVE_INFINITY, dequeued: false, line: 0, resumesUpload: false }
  return Object.assign(call, { ...asks, begin: ignore, refuse: ignore })
}

test('probes of an origin that hangs are sent at doubling intervals, fewer than 40 in 15 minutes', async () => {
  const limits = new AdaptiveLimits(error => assert.fail(String(error)))
  const origin = limits.of('http://127.0.0.1:1')!
  for (let last: GatedCall | undefined; last?.waits !== true; ) {
    last = new GatedCall(origin, 'GET /', 60_000, () => undefined)
    // The call may wait only because this turn of the loop has taken too long. Then it begins in the next turn.
    if (last.waits) await new Promise(resolve => setImmediate(resolve))
  }
  // A whole number, because fractions of a millisecond are rounded, and would delay a probe by a quarter of a second.
  const from = Math.ceil(now())
  const probedAfterS: number[] = []
  for (let s = 0; s < 900; s += 0.25) {
    if (origin.ask(callAt(from + 1000 * s)) === 'start') probedAfterS.push(Math.round(s))
  }
  assert.deepEqual(probedAfterS.slice(0, 4), [1, 3, 7, 15])
  assert.ok(probedAfterS.length < 40, String(probedAfterS.length))
})
