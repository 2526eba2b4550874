/** The time budget of sheds. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ShedBudget } from '../../src/admission/shed-budget.ts'

interface Options {
  readonly rests?: boolean
  readonly handlers?: boolean
  /** Another process takes half of the core. */
  readonly stolen?: boolean
}

/**
 * A loop with turns of 10 ms that is always busy, with `sheds` sheds of `costMs` in each. Returns the share of sheds
 * within the budget.
 */
function share(sheds: number, costMs: number, options: Options = {}): number {
  let busyMs = 0
  const time = new ShedBudget(
    () => busyMs,
    () => (options.stolen === true ? busyMs / 2 : busyMs),
  )
  let may = 0
  let asked = 0
  for (let turn = 1; turn <= 500; turn++) {
    for (let i = 0; i < sheds; i++) {
      const nowMs = turn * 10 + i * costMs
      busyMs = options.rests === true ? (turn * sheds + i) * costMs : nowMs
      time.spent(nowMs, turn)
      if (options.handlers === true) time.interrupted()
      asked++
      if (time.hasTime(nowMs)) may++
    }
  }
  return may / asked
}

describe('the shed budget', () => {
  it('suffices while sheds take less than their share of a busy loop', () => {
    assert.equal(share(100, 0.02), 1)
    assert.equal(share(170, 0.02), 1)
  })

  it('is exhausted when sheds take far more', () => {
    assert.ok(share(400, 0.02) < 0.1)
  })

  it('is all the idle time of a loop that idles', () => {
    assert.equal(share(400, 0.02, { rests: true }), 1)
  })

  it('is a share of the CPU time that other processes leave', () => {
    assert.equal(share(160, 0.02), 1)
    assert.ok(share(160, 0.02, { stolen: true }) < 0.2)
  })

  it('does not count what handlers did in between', () => {
    assert.equal(share(400, 0.02, { handlers: true }), 1)
  })

  it('counts sheds that are sent later', () => {
    const time = new ShedBudget(() => 1000)
    assert.equal(time.hasTime(1000), true)
    time.spentAll(1000, 1200)
    assert.equal(time.hasTime(1000), false)
  })

  it('recovers within 150 ms after the load has ended, however much was owed', () => {
    let busyMs = 0
    const time = new ShedBudget(() => busyMs)
    for (busyMs = 0; busyMs < 10_000; busyMs += 10) {
      time.spentAll(busyMs, busyMs + 10)
      time.hasTime(busyMs + 10)
    }
    assert.equal(time.hasTime(busyMs), false)
    busyMs += 150
    assert.equal(time.hasTime(busyMs), true)
  })

  it('suffices where Node does not number the turns of its loop', () => {
    const time = new ShedBudget(() => 0)
    for (let i = 0; i < 100_000; i++) time.spent(i * 0.02, Number.NaN)
    assert.equal(time.hasTime(2000), true)
  })
})
