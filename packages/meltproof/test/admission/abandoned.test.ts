/** When the permit of a request comes back whose client has gone while its handler works on. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Abandoned } from '../../src/admission/abandoned.ts'
import { type Stay, Stays } from '../../src/admission/stays.ts'

function service() {
  const stays = new Stays<Stay>()
  const abandoned = new Abandoned<Stay>(stays)
  return {
    stays,
    abandoned,
    start(startedAt = 0, kind = 1): Stay {
      const stay = { startedAt, staysSince: 0, kindNoted: 0, answeredThen: 0, besideThen: 0 }
      stays.started(stay, kind)
      return stay
    },
    /** So many of a kind come and are answered within `ms`. */
    answer(count: number, kind = 1, ms = 1): void {
      for (let i = 0; i < count; i++) stays.answered(this.start(0, kind), ms)
    },
  }
}

describe('work that was abandoned is presumed over', () => {
  it('when twice as many of its kind have been answered since as are beside it', () => {
    const { abandoned, start, answer, stays } = service()
    const world = { stays, start, answer }
    const hung = start()
    start()
    abandoned.add(hung, 0)
    world.answer(3)
    assert.deepEqual(abandoned.takePresumedOver(10), [])
    world.answer(1)
    assert.deepEqual(abandoned.takePresumedOver(20), [hung])
    assert.equal(abandoned.count, 0)
  })

  it('not when only others are answered', () => {
    const { abandoned, start, answer, stays } = service()
    abandoned.add(start(0, 1), 0)
    answer.call({ start, stays }, 1000, 2)
    assert.deepEqual(abandoned.takePresumedOver(499), [])
  })

  it('one after half a second, the next after one more, then two: an outage lets hardly anybody in', () => {
    const { abandoned, start } = service()
    for (let i = 0; i < 100; i++) abandoned.add(start(), 0)
    const at: number[] = []
    for (let half = 0; half <= 64; half++) {
      for (const _ of abandoned.takePresumedOver(half * 500)) at.push(half)
    }
    assert.deepEqual(at, [1, 3, 7, 15, 31, 63])
  })

  it('and never while handlers are seen to end', () => {
    const { abandoned, start } = service()
    const stays = Array.from({ length: 100 }, () => start())
    for (const stay of stays) abandoned.add(stay, 0)
    for (let i = 0; i < 50; i++) {
      assert.equal(abandoned.ended(stays[i]!, i * 400), true)
      assert.deepEqual(abandoned.takePresumedOver(i * 400 + 399), [])
    }
    assert.equal(abandoned.count, 50)
    assert.equal(abandoned.ended(stays[0]!, 0), false, 'it has ended before')
  })
})

describe('the least time a request needs', () => {
  it('is what all of its like take where they take the same', () => {
    const { stays, start, answer } = service()
    const world = { stays, start, answer }
    world.answer(100, 1, 200)
    assert.equal(stays.leastMs(1), 0, 'nobody is in service: nothing is known of now')
    start()
    assert.ok(Math.abs(stays.leastMs(1) - 200) < 1, `${stays.leastMs(1)} ms`)
    assert.equal(stays.leastMs(2), 0)
  })

  it('is nothing where they vary widely', () => {
    const { stays, start, answer } = service()
    const world = { stays, start, answer }
    for (let i = 0; i < 50; i++) world.answer(1, 1, i % 2 === 0 ? 5 : 400)
    start()
    assert.equal(stays.leastMs(1), 0)
  })
})
