/** How long responses are delayed, on a clock that the test moves. */
import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { describe, it, mock, type TestContext } from 'node:test'
import { now } from '../../../src/clock.ts'
import type { Connection } from '../../../src/server/connection/connection.ts'
import type { Exchange } from '../../../src/server/request/exchange.ts'
import { HeldAnswers, MOST_HELD_MS } from '../../../src/server/shed/held-answers.ts'
import { fakeTimers } from '../../fake-timers.ts'

type Client = Connection<Exchange>

/** Delays responses until the test grants time. */
function delayedAnswers(t: TestContext) {
  let nowMs = 1_000_000
  t.mock.method(performance, 'now', () => nowMs)
  t.after(fakeTimers('setTimeout'))
  const time = { has: false, spent: () => {}, spentAll: () => {}, interrupted: () => {}, hasTime: () => time.has }
  const given: { readonly client: Client; readonly afterMs: number }[] = []
  const since = new Map<Client, number>()
  const answers = new HeldAnswers(time, client => {
    given.push({ client, afterMs: nowMs - since.get(client)! })
    answers.delete(client)
  })
  return {
    time,
    given,
    answers,
    hold(): Client {
      const client = {} as Client
      since.set(client, nowMs)
      answers.hold(client, now())
      return client
    },
    pass(ms: number): void {
      for (let i = 0; i < ms; i++) {
        nowMs++
        mock.timers.tick(1)
      }
    },
  }
}

describe('a delayed 503', () => {
  it(`is sent after ${MOST_HELD_MS} ms, with a tolerance of 10 ms, if there is never time`, t => {
    const { given, hold, pass } = delayedAnswers(t)
    hold()
    pass(700)
    hold()
    pass(6 * MOST_HELD_MS)
    assert.equal(given.length, 2)
    for (const { afterMs } of given) assert.ok(afterMs >= MOST_HELD_MS && afterMs <= MOST_HELD_MS + 10, `${afterMs} ms`)
  })

  it('is held for at most two seconds, after which clients would open a new connection', () => {
    assert.ok(MOST_HELD_MS <= 2_000)
  })

  it('is sent in the next round once there is time, oldest first', t => {
    const { time, given, hold, pass } = delayedAnswers(t)
    const clients = [hold(), hold(), hold()]
    pass(100)
    assert.deepEqual(given, [])
    time.has = true
    pass(5)
    assert.deepEqual(
      given.map(({ client }) => client),
      clients,
    )
    pass(100)
    assert.equal(given.length, 3)
    hold()
    pass(10)
    assert.equal(given.length, 4)
  })

  it('is sent at once by end(), and not again', t => {
    const { given, answers, hold, pass } = delayedAnswers(t)
    hold()
    hold()
    answers.end()
    assert.equal(given.length, 2)
    pass(2 * MOST_HELD_MS)
    assert.equal(given.length, 2)
  })
})
