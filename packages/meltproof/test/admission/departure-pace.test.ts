import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DeparturePace } from '../../src/admission/queue/departure-pace.ts'

/** Feeds departures every `gapsMs`, each for 100 ms. Returns the pace and the time of the last one. */
function after(...gapsMs: number[]): { readonly pace: DeparturePace; readonly lastAt: number } {
  const pace = new DeparturePace(100)
  let nowMs = 1000
  pace.begin(nowMs, true)
  // The first gap of a queue counts as a stall.
  pace.departed(++nowMs)
  for (const gapMs of gapsMs) {
    for (let i = 0; i < 100 / gapMs; i++) {
      nowMs += gapMs
      pace.departed(nowMs)
    }
  }
  return { pace, lastAt: nowMs }
}

describe('the pace of departures', () => {
  it('speeds up when departures are faster twice in a row', () => {
    const { pace, lastAt } = after(10, 5)
    assert.equal(pace.speedsUp(lastAt), true)
  })

  it('does not speed up after a single interval or at a steady pace', () => {
    for (const { pace, lastAt } of [after(10), after(10, 10), after(10, 5, 10)]) {
      assert.equal(pace.speedsUp(lastAt), false)
    }
  })

  it('no longer speeds up once departures stop', () => {
    const { pace, lastAt } = after(10, 5)
    assert.equal(pace.speedsUp(lastAt + 300), false)
  })
})
