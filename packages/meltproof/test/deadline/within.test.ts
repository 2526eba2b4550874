import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeadlineExceededError, remaining, within } from '../../src/deadline/index.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { isBeating } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'
import { kept } from './kept.ts'

/** Work that never ends, and ignores its signal. */
const forever = (): Promise<never> => new Promise(() => {})

test('within() settles like the work', async () => {
  assert.equal(await within(1000, async () => 'done'), 'done')
  assert.equal(await within(1000, () => 'not even a promise'), 'not even a promise')
  const failure = new Error('from the work')
  await assert.rejects(
    within(1000, () => Promise.reject(failure)),
    failure,
  )
  await assert.rejects(
    within(1000, () => {
      throw failure
    }),
    failure,
  )
  assert.equal(pendingFairTimers(), 0)
})

test('work that ignores its signal is not waited for, and its late rejection is dropped', async () => {
  let fail: (error: Error) => void = () => {}
  let given: AbortSignal | undefined
  const error = await kept(
    rejection(
      within(30, signal => {
        given = signal
        return new Promise((_, reject) => {
          fail = reject
        })
      }),
    ),
  )
  assert.ok(error instanceof DeadlineExceededError)
  assert.equal(given?.reason, error)
  fail(new Error('much later; an unhandled rejection here would fail the test'))
  await new Promise(setImmediate)
})

test('the error says what was waited for, how long, and whether the event loop of this process stalled', async () => {
  const error = await kept(rejection(within(40, forever, { what: 'the price service' })))
  assert.ok(error instanceof DeadlineExceededError && isMeltproofError(error))
  assert.equal(error.name, 'DeadlineExceededError')
  assert.equal(error.code, 'MELTPROOF_DEADLINE_EXCEEDED')
  assert.equal(error.phase, 'work')
  assert.equal(error.limitMs, 40)
  assert.equal(error.bytesSeen, undefined)
  assert.ok(error.waitedMs >= 39)
  assert.match(
    error.message,
    // On a busy machine the loop stalls for some ms.
    /the price service took more than 40 ms\. Waited \d+ ms for it to finish\. (This process was not stalled|The event loop of this process was stalled for \d+ ms of that)/,
  )
})

test('stalls extend the limit and are reported in the error', async () => {
  const pending = rejection(within(250, forever))
  await kept(sleep(20))
  block(150)
  const error = await kept(pending)
  assert.ok(error instanceof DeadlineExceededError)
  const { ownStallMs, waitedMs, message } = error
  assert.ok(ownStallMs > 130, message)
  // On a busy machine the stall may be longer. The extension is at most the limit: 500 ms in all.
  if (waitedMs - ownStallMs >= 249) assert.match(message, /stalled for \d+ ms of that\. The limit was extended/)
  else {
    assert.ok(waitedMs >= 499, message)
    assert.match(message, /stalled for \d+ ms of that, which left \d+ ms/)
  }
})

test('nested limits only shrink, and the outer deadline ends all', async () => {
  await kept(
    within(80_000, async () => {
      assert.ok(remaining() <= 80_000)
      await within(100_000, async () => assert.ok(remaining() <= 80_000))
      await within(20_000, async () => assert.ok(remaining() <= 20_000))
      assert.ok(remaining() > 20_000)
      await within(Number.POSITIVE_INFINITY, async () => assert.ok(remaining() <= 80_000))
    }),
  )
  assert.equal(remaining(), Number.POSITIVE_INFINITY)
  const signals: AbortSignal[] = []
  const error = await kept(
    rejection(
      within(40, () =>
        within(10_000, signal => {
          signals.push(signal)
          return within(Number.POSITIVE_INFINITY, inner => {
            signals.push(inner)
            return forever()
          })
        }),
      ),
    ),
  )
  assert.ok(error instanceof DeadlineExceededError)
  // The middle budget may have ended by the failure of its work before its deadline, because all were due at once.
  assert.equal(signals.at(-1)?.aborted, true)
  assert.equal(pendingFairTimers(), 0)
})

test('a call whose budget is too small is refused, not started', async () => {
  const started: string[] = []
  for (const ms of [0, -1, Number.NEGATIVE_INFINITY, 0.5]) {
    const error = await rejection(within(ms, async () => started.push(String(ms))))
    assert.ok(error instanceof DeadlineExceededError, `${ms}`)
    assert.equal(error.phase, 'refused')
  }
  const error = await rejection(
    within(50, () => within(1000, async () => started.push('needs 60'), { needsMs: 60, what: 'the search' })),
  )
  assert.ok(error instanceof DeadlineExceededError)
  assert.equal(error.phase, 'refused')
  assert.match(error.message, /the search was not started, because only \d+ ms of its time were left/)
  assert.equal(await within(0.5, async () => 'asked for nothing', { needsMs: 0 }), 'asked for nothing')
  assert.deepEqual(started, [])
})

test('after a stall longer than the limit, a nested call still runs', async () => {
  const result = await kept(
    within(1000, async () => {
      await sleep(20)
      block(1500)
      return within(500, async () => {
        await sleep(5)
        return 'served'
      })
    }),
  )
  assert.equal(result, 'served')
})

test('invalid arguments reject with a message that names them', async () => {
  const work = async (): Promise<void> => assert.fail('started')
  const calls: [() => Promise<unknown>, RegExp][] = [
    [() => within(Number.NaN, work), /ms must be a number of milliseconds.*got NaN/],
    [() => within('5s' as unknown as number, work), /got '5s'/],
    [() => within(5, undefined as unknown as () => void), /fn must be a function; got undefined/],
    [() => within(5, work, { needMs: 1 } as object), /does not know 'needMs'. Did you mean 'needsMs'/],
    [() => within(5, work, { needsMs: -1 }), /needsMs must be/],
    [() => within(5, work, { signal: {} as AbortSignal }), /signal must be an AbortSignal/],
    [() => within(5, work, { what: 5 as unknown as string }), /what must be a string/],
    [() => within(5, work, null as unknown as object), /options must be an object/],
  ]
  for (const [call, message] of calls) {
    const error = await rejection(call())
    assert.ok(isMeltproofError(error) && error.code.startsWith('MELTPROOF_OPTION_'))
    assert.match(error.message, message)
  }
})

test('a huge limit works like any other', async () => {
  for (const ms of [2 ** 31, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE]) {
    assert.equal(await within(ms, () => sleep(5, 'done')), 'done')
  }
})

test('an aborted signal ends the work, or keeps it from starting', async () => {
  const aborted = AbortSignal.abort(new Error('before'))
  await assert.rejects(
    within(1000, () => assert.fail('started'), { signal: aborted }),
    /before/,
  )
  const controller = new AbortController()
  let given: AbortSignal | undefined
  const pending = rejection(
    within(
      60_000,
      signal => {
        given = signal
        return forever()
      },
      { signal: controller.signal },
    ),
  )
  const reason = new Error('enough')
  controller.abort(reason)
  assert.equal(await pending, reason)
  assert.equal(given?.reason, reason)
  assert.equal(pendingFairTimers(), 0)
})

test('a reason that is not an Error becomes the cause of an AbortError, also of the signal that the work gets', async () => {
  for (const reason of ['left', null, 7, { of: 'the app' }]) {
    const early = (await rejection(
      within(1000, () => assert.fail('started'), { signal: AbortSignal.abort(reason) }),
    )) as Error
    assert.deepEqual([early.name, early.cause], ['AbortError', reason])
    const controller = new AbortController()
    let given: AbortSignal | undefined
    const work = (signal: AbortSignal): Promise<never> => {
      given = signal
      return forever()
    }
    const pending = rejection(within(60_000, work, { signal: controller.signal }))
    controller.abort(reason)
    const error = (await pending) as Error
    assert.deepEqual([error.name, error.cause, given?.reason], ['AbortError', reason, error])
  }
})

test('awaiting code continues in its own async context', async () => {
  const store = new AsyncLocalStorage<string>()
  const seen = await kept(
    store.run('request 7', async () => {
      await rejection(within(20, forever))
      return store.getStore()
    }),
  )
  assert.equal(seen, 'request 7')
})

test('three thousand calls leave no timer behind', async () => {
  const outcomes = await kept(
    Promise.allSettled(
      Array.from({ length: 3000 }, (_, i) =>
        within(100, signal =>
          i % 3 === 0 ? sleep(5) : i % 3 === 1 ? forever() : sleep(60_000, undefined, { signal }),
        ),
      ),
    ),
  )
  assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 2000)
  assert.equal(pendingFairTimers(), 0)
  while (isBeating()) await kept(sleep(5))
})

test('instanceof works across duplicate installs', () => {
  const stranger = Object.defineProperty(new Error('x'), Symbol.for('meltproof.deadline-exceeded'), { value: true })
  assert.ok(stranger instanceof DeadlineExceededError)
  assert.ok(!(new Error('x') instanceof DeadlineExceededError))
  assert.ok(!((null as unknown) instanceof DeadlineExceededError))
})

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  return assert.fail('it did not reject')
}

test('a reason that is an error of another realm, or a DOMException, is passed on as it is', async () => {
  const foreign: unknown = runInNewContext("new RangeError('elsewhere')")
  for (const signal of [AbortSignal.abort(foreign), AbortSignal.abort()]) {
    assert.equal(await rejection(within(1000, () => assert.fail('started'), { signal })), signal.reason)
  }
})
