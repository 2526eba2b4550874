/** Whether lanes keep up, told from how many of them accept in a turn. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LanePace } from '../../src/server/connection/lane-pace.ts'

/** Turns of 10 ms in which so many of 32 lanes accept; the answers of all windows. */
function paces(acceptedIn: (turn: number) => number, turns = 200): boolean[] {
  let turn = 1
  const pace = new LanePace(
    () => turn * 10,
    () => turn,
  )
  const told: boolean[] = []
  for (; turn <= turns; turn++) {
    for (let i = 0; i < acceptedIn(turn); i++) {
      const answer = pace.accepted(32)
      if (answer !== undefined) told.push(answer.behind)
    }
  }
  // The first one only begins.
  return told.slice(1)
}

describe('the pace of lanes', () => {
  it('falls behind where every lane accepts in every turn', () => {
    const told = paces(() => 32)
    assert.ok(told.length >= 8)
    assert.ok(told.every(Boolean))
  })

  it('keeps up where chance leaves a third of them without', () => {
    assert.ok(paces(() => 20).every(behind => !behind))
  })

  it('keeps up where full turns and empty ones take turns', () => {
    assert.ok(paces(turn => (turn % 2 === 0 ? 32 : 0)).every(behind => !behind))
  })

  it('keeps up after a burst that is over', () => {
    const told = paces(turn => (turn <= 25 ? 32 : 1), 400)
    assert.equal(told[0], true)
    assert.ok(told.slice(2).every(behind => !behind))
  })

  it('tells how many turns a window had', () => {
    let turn = 0
    const pace = new LanePace(
      () => turn * 10,
      () => turn,
    )
    const windows: number[] = []
    for (; turn < 1000; turn++) {
      const answer = pace.accepted(32)
      if (answer !== undefined) windows.push(answer.turns)
    }
    const [, ...whole] = windows
    assert.ok(whole.length > 0)
    assert.ok(whole.every(turns => turns >= 20 && turns < 30))
  })

  it('is not behind where Node numbers no turns', () => {
    let ms = 0
    const pace = new LanePace(
      () => ms,
      () => Number.NaN,
    )
    for (; ms < 10_000; ms++) assert.notEqual(pace.accepted(32)?.behind, true)
  })
})
