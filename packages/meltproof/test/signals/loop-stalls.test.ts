/** The heartbeat on a real event loop. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../../src/clock.ts'
import { hold, isBeating, stalledBetween, stallsBetween } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'

test('a blocked loop is measured while it is held, and the heartbeat ends with the hold', async () => {
  assert.equal(isBeating(), false)
  const release = hold()
  assert.equal(isBeating(), true)
  await sleep(30)
  const fromMs = now()
  block(150)
  const blockedUntilMs = now()
  const stillOn = stalledBetween(fromMs, blockedUntilMs)
  assert.ok(stillOn > 130 && stillOn <= blockedUntilMs - fromMs + 1, `told ${stillOn} ms while the stall was still on`)
  await sleep(30)
  const stalled = stalledBetween(fromMs, blockedUntilMs)
  assert.ok(stalled > 130 && stalled <= blockedUntilMs - fromMs + 1, `told ${stalled} ms afterwards`)
  const [stall] = stallsBetween(fromMs, blockedUntilMs)
  assert.ok(stall !== undefined)
  assert.ok(stall.fromMs > fromMs - 12 && stall.toMs >= blockedUntilMs)
  release()
  release()
  while (isBeating()) await sleep(5)
  const other = hold()
  assert.equal(isBeating(), true, 'a second release of one hold must not take another hold away')
  await sleep(30)
  assert.equal(isBeating(), true)
  other()
  while (isBeating()) await sleep(5)
})
