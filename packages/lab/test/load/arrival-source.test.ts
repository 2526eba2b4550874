/**
 * Closed-loop users and retries: the times at which requests are due. There is no clock, and the test plays the server.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type RequestEnd, sourceOf } from '../../src/load/arrival-source.ts'
import { DueTimes } from '../../src/load/due-times.ts'

const closed = (users: number, thinkMs: number, durationMs = 60_000) =>
  sourceOf({ kind: 'closed', users, durationMs, thinkMs }, 0, 1)

describe('closed-loop users', () => {
  /** The maximum of requests due within 10 ms, for `users` whose requests each take `answerMs`. */
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

  it('are spread out from the start', () => {
    assert.ok(most(100, 1000, () => 5, 0) < 20)
  })

  it('are spread out again after a stall that answered them all at once', () => {
    const stalled = (due: number): number => (due < 10_000 ? 10_000 - due : 5)
    assert.ok(most(100, 1000, stalled, 20_000) < 20)
  })

  it('think for the configured time on average', () => {
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

  it('send the next request at once without think time, but not if they got no connection', () => {
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

describe('clients that retry', () => {
  /** The due times of one request per second for ten seconds. Request `n` ends with `end(n)` after 100 ms. */
  const dues = (retries: number | undefined, end: (n: number) => RequestEnd): number[] => {
    const schedule = { phases: [{ kind: 'constant', rate: 1, durationMs: 10_000 }], spacing: 'even', seed: 1 } as const
    const source = sourceOf({ kind: 'open', schedule, ...(retries === undefined ? {} : { retries }) }, 0, 1)
    const found: number[] = []
    for (let due = source.peek(); due < Number.POSITIVE_INFINITY; due = source.peek()) {
      source.advance()
      found.push(due)
      source.ended(due + 100, true, due, end(found.length), 0)
    }
    return found
  }

  it('retry as often as configured, but not after the schedule has ended', () => {
    for (const end of [503, 500, 'response-timeout', 'refused', 'unsent'] as const) {
      // The last request is due 500 ms before the end, and its second retry at 9,800 ms at the earliest.
      const { length } = dues(2, () => end)
      assert.ok(length >= 29 && length <= 30, `${end}: ${length}`)
    }
    assert.ok(dues(2, () => 503).every(due => due < 10_000))
    assert.equal(dues(undefined, () => 503).length, 10)
    assert.equal(dues(0, () => 503).length, 10)
  })

  it('do not retry after a 2xx, 3xx or 4xx response', () => {
    for (const end of [200, 304, 404, 429]) assert.equal(dues(2, () => end).length, 10)
    assert.equal(dues(2, n => (n % 2 === 1 ? 503 : 200)).length, 20)
  })

  it('wait longer before the second retry', () => {
    const all = dues(2, () => 503)
    for (let first = 0; first + 3 <= 27; first += 3) {
      const [due, once, twice] = all.slice(first) as [number, number, number]
      assert.ok(once - due >= 150 && once - due <= 250, `${once - due}`)
      assert.ok(twice - once >= 200 && twice - once <= 400, `${twice - once}`)
    }
  })
})

it('DueTimes returns times in order', () => {
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
