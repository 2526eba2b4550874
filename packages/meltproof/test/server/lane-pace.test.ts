/** Whether lanes keep up, told from which of them accept in which turn. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LanePace } from '../../src/server/lane-pace.ts'

/** Turns of 10 ms in which so many of 32 lanes accept; the answers of all windows. */
function paces(acceptedIn: (turn: number) => number, turns = 200): boolean[] {
  const pace = new LanePace()
  const told: boolean[] = []
  for (let turn = 1; turn <= turns; turn++) {
    for (let i = 0; i < acceptedIn(turn); i++) {
      const answer = pace.accepted(turn * 10, turn, 32)
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
    const pace = new LanePace()
    pace.accepted(0, 0, 32)
    for (let turn = 1; turn < 20; turn++) assert.equal(pace.accepted(turn * 10, turn, 32), undefined)
    assert.equal(pace.accepted(200, 20, 32)?.turns, 20)
  })

  it('is not behind where Node numbers no turns', () => {
    const pace = new LanePace()
    for (let i = 0; i < 10_000; i++) assert.notEqual(pace.accepted(i, Number.NaN, 32)?.behind, true)
  })
})
