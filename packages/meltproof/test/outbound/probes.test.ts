/** How often an origin that hangs is probed while all of its places are taken. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { now } from '../../src/clock.ts'
import { AdaptiveLimits, CallTurn } from '../../src/outbound/adaptive.ts'

/** One that asks at a time of its own. */
function turnAt(arrivedAt: number): CallTurn {
  const turn = Object.create(CallTurn.prototype) as CallTurn
  return Object.assign(turn, { arrivedAt, answerBy: Number.POSITIVE_INFINITY, left: false, line: 0, again: false })
}

test('probes of an origin that hangs become rarer, and are few in a quarter of an hour', async () => {
  const limits = new AdaptiveLimits(error => assert.fail(String(error)))
  const origin = limits.of('http://127.0.0.1:1')!
  const { gate } = origin.turns
  while (gate.inflight < gate.limit) {
    new CallTurn(origin, 60_000, () => undefined)
    // A turn of the loop that takes long starts nothing more.
    await turn()
  }
  const from = now()
  const probedAfterS: number[] = []
  for (let s = 0; s < 900; s += 0.25) {
    if (origin.ask(turnAt(from + 1000 * s)) === 'start') probedAfterS.push(Math.round(s))
  }
  assert.deepEqual(probedAfterS.slice(0, 4), [1, 3, 7, 15])
  assert.ok(probedAfterS.length < 40, String(probedAfterS.length))
})
