/** Kinds that merely wait are told from those that are quick, and from those that have come to a halt. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITER_TUNING } from '../../src/admission/limiter/tuning.ts'
import { WaitingKinds } from '../../src/admission/limiter/waiting-kinds.ts'

const GATEWAY = 3
const HEALTH = 7

/** Forty a second from 0 on, each answered after `serviceMs`. */
function forty(kinds: WaitingKinds, serviceMs: number, untilMs: number, waitedMs = 0): void {
  for (let ms = 0; ms < untilMs; ms += 25) {
    if (ms >= serviceMs) kinds.completed(ms, serviceMs, GATEWAY)
    kinds.admitted(ms, GATEWAY)
    kinds.grow(ms, ms - waitedMs, true)
  }
}

test('a kind whose answers take long from the first on is not counted', () => {
  const kinds = new WaitingKinds(LIMITER_TUNING)
  forty(kinds, 5000, 10_000)
  assert.equal(kinds.counts(GATEWAY), false)
  assert.equal(kinds.uncounted, kinds.inService(GATEWAY))
  assert.equal(kinds.counts(HEALTH), true)
})

test('before the first answer it may grow, after a while', () => {
  const kinds = new WaitingKinds(LIMITER_TUNING)
  forty(kinds, 5000, 300)
  assert.equal(kinds.uncounted, 0)
  const later = new WaitingKinds(LIMITER_TUNING)
  forty(later, 5000, 4000)
  assert.equal(later.uncounted, later.inService(GATEWAY))
})

test('but not once others have waited for so long that they are shed anyway', () => {
  const kinds = new WaitingKinds(LIMITER_TUNING)
  forty(kinds, 5000, 4000, LIMITER_TUNING.blindMs)
  assert.equal(kinds.uncounted, 0)
})

test('a quick kind counts, even after its answers stop', () => {
  const kinds = new WaitingKinds(LIMITER_TUNING)
  forty(kinds, 50, 1000)
  for (let ms = 1000; ms < 5000; ms += 25) {
    kinds.admitted(ms, GATEWAY)
    kinds.grow(ms, ms, true)
  }
  assert.equal(kinds.uncounted, 0)
})

test('while others are answered a new kind may grow, however long somebody has waited', () => {
  const kinds = new WaitingKinds(LIMITER_TUNING)
  for (let ms = 0; ms < 1000; ms += 10) {
    kinds.admitted(ms, HEALTH)
    kinds.completed(ms, 5, HEALTH)
  }
  for (let ms = 1000; ms < 5000; ms += 25) {
    kinds.admitted(ms, HEALTH)
    kinds.completed(ms + 5, 5, HEALTH)
    kinds.admitted(ms, GATEWAY)
    kinds.grow(ms, 1000, true)
  }
  assert.equal(kinds.uncounted, kinds.inService(GATEWAY))
})

test('answers that were held until the same moment tell nothing of a kind, also those that came last', () => {
  const kinds = new WaitingKinds(LIMITER_TUNING)
  for (let ms = 0; ms < 5000; ms += 25) kinds.admitted(ms, GATEWAY)
  for (let ms = 0; ms < 5000; ms += 25) kinds.completed(5000, 5000 - ms, GATEWAY)
  // It is still new.
  for (let ms = 5000; ms < 10_000; ms += 25) {
    kinds.admitted(ms, GATEWAY)
    kinds.grow(ms, ms, true)
  }
  assert.equal(kinds.uncounted, kinds.inService(GATEWAY))
})
