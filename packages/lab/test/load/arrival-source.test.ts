/** Users who wait for their answers and think in between: when they want the next. No clock: the test plays the server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { sourceOf } from '../../src/load/arrival-source.ts'
import { DueTimes } from '../../src/load/due-times.ts'

const closed = (users: number, thinkMs: number, durationMs = 60_000) =>
  sourceOf({ kind: 'closed', users, durationMs, thinkMs }, 0, 1)

describe('users', () => {
  /** Of the requests of `users`, each answered in `answerMs`, the most that are due within 10 ms of each other. */
  const most = (users: number, thinkMs: number, answerMs: (due: number) => number, from: number): number => {
    const source = closed(users, thinkMs)
    const dues: number[] = []
    const answers = new DueTimes()
    for (;;) {
      const due = source.peek()
      if (answers.first <= due) {
        if (answers.first === Number.POSITIVE_INFINITY) break
        source.ended(answers.first, true, 0, 200, 0)
        answers.removeFirst()
        continue
      }
      source.advance()
      dues.push(due)
      answers.add(due + answerMs(due))
    }
    const late = dues.filter(due => due >= from)
    return Math.max(...late.map(due => late.filter(other => other >= due && other < due + 10).length))
  }

  it('do not march in step: not from the start', () => {
    assert.ok(most(100, 1000, () => 5, 0) < 20)
  })

  it('and not after a stall that answered them all at once', () => {
    const stalled = (due: number): number => (due < 10_000 ? 10_000 - due : 5)
    assert.ok(most(100, 1000, stalled, 20_000) < 20)
  })

  it('think as long as they are told on average', () => {
    const source = closed(1, 100)
    source.advance()
    let sum = 0
    for (let at = 0; at < 50_000; at += 50) {
      source.ended(at, true, 0, 200, 0)
      sum += source.peek() - at
      source.advance()
    }
    assert.ok(Math.abs(sum / 1000 - 100) < 5, `${sum / 1000}`)
  })

  it('want the next at once without thinking, but not when they got no connection', () => {
    const source = closed(1, 0)
    assert.equal(source.peek(), 0)
    source.advance()
    assert.equal(source.peek(), Number.POSITIVE_INFINITY)
    source.ended(7, true, 0, 200, 0)
    assert.equal(source.peek(), 7)
    source.advance()
    source.ended(8, false, 7, 'refused', 0)
    assert.equal(source.peek(), 108)
  })
})

it('due times come out in order', () => {
  const times = fc.array(fc.oneof(fc.double({ noNaN: true, min: 0, max: 1e6 }), fc.constant('first' as const)))
  fc.assert(
    fc.property(times, steps => {
      const due = new DueTimes()
      let model: number[] = []
      for (const step of steps) {
        if (step === 'first') {
          assert.equal(due.first, model[0] ?? Number.POSITIVE_INFINITY)
          due.removeFirst()
          model = model.slice(1)
        } else {
          due.add(step)
          model = [...model, step].sort((a, b) => a - b)
        }
      }
      assert.equal(due.first, model[0] ?? Number.POSITIVE_INFINITY)
    }),
  )
})
