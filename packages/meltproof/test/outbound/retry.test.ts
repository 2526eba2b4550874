/** retry() and its budget, first with given numbers, then with real waits and stalls. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { Budget } from '../../src/deadline/budget.ts'
import { runWithBudget } from '../../src/deadline/context.ts'
import { isMeltproofError, MeltproofError } from '../../src/errors.ts'
import { retry, type RetryOptions } from '../../src/outbound/retry.ts'
import { RetryBudget, type RetryBudgetOptions } from '../../src/outbound/retry-budget.ts'
import { isBeating } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'
import { WatchedBudget } from '../deadline/watched-budget.ts'
import { eventually } from '../server/harness.ts'

describe('RetryBudget', () => {
  test('starts with its burst, and earns a share of the attempts and minPerSecond', () => {
    const budget = new RetryBudget({ ratio: 0.1, minPerSecond: 1, burst: 3 })
    for (let i = 0; i < 3; i++) assert.equal(budget.take(0), true)
    assert.equal(budget.take(0), false)
    for (let i = 0; i < 10; i++) budget.attempted()
    assert.equal(budget.take(0), true)
    assert.equal(budget.take(999), false)
    assert.equal(budget.take(1_000), true)
    for (let i = 0; i < 3; i++) assert.equal(budget.take(1_000_000), true)
    assert.equal(budget.take(1_000_000), false)
  })

  test('earns nothing while the clock goes back, and nothing twice afterwards', () => {
    const budget = new RetryBudget({ ratio: 0, minPerSecond: 1, burst: 3 })
    for (let i = 0; i < 3; i++) assert.equal(budget.take(10_000), true)
    for (const nowMs of [9_000, 0, 5_000, 10_000, 10_999]) assert.equal(budget.take(nowMs), false, `${nowMs}`)
    assert.equal(budget.take(11_000), true)
    assert.equal(budget.take(11_000), false)
  })

  test('keeps its balance when the clock goes back', () => {
    const budget = new RetryBudget({ ratio: 0, minPerSecond: 1, burst: 3 })
    assert.equal(budget.take(10_000), true)
    assert.equal(budget.take(0), true)
    assert.equal(budget.take(0), true)
    assert.equal(budget.take(0), false)
  })

  test('retries never exceed burst + ratio * attempts + minPerSecond * time', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ attempts: fc.nat(20), waitMs: fc.nat(3_000), retries: fc.nat(20) }), { maxLength: 50 }),
        steps => {
          const budget = new RetryBudget({ ratio: 0.2, minPerSecond: 2, burst: 5 })
          let [nowMs, attempts, taken] = [0, 0, 0]
          for (const step of steps) {
            nowMs += step.waitMs
            for (let i = 0; i < step.attempts; i++, attempts++) budget.attempted()
            for (let i = 0; i < step.retries; i++) if (budget.take(nowMs)) taken++
            assert.ok(taken <= 5 + 0.2 * attempts + (2 * nowMs) / 1000 + 1e-6)
          }
        },
      ),
    )
  })

  for (const [what, options] of [
    ['NaN', { ratio: Number.NaN }],
    ['more than every attempt', { ratio: 1.1 }],
    ['a negative rate', { minPerSecond: -1 }],
    ['no burst', { burst: 0 }],
    ['an enormous burst', { burst: 1e9 }],
    ['a misspelt name', { rate: 1 }],
    ['null', null],
  ] as const) {
    test(`refuses ${what}`, () => {
      assert.throws(() => new RetryBudget(options as RetryBudgetOptions), isMeltproofError)
    })
  }
})

const down = new Error('down')
const FAST: RetryOptions = { baseMs: 1, maxWaitMs: 2 }
/** Fails `times` times, then succeeds. Records its attempts. */
function failing(times: number, error: unknown = down): { fn: (attempt: number) => string; attempts: number[] } {
  const attempts: number[] = []
  return {
    attempts,
    fn: attempt => {
      attempts.push(attempt)
      if (attempts.length <= times) throw error
      return 'up'
    },
  }
}

describe('retry()', () => {
  test('retries until an attempt succeeds or attempts run out, and throws the last error', async () => {
    const twice = failing(2)
    assert.equal(await retry(twice.fn, new RetryBudget(), FAST), 'up')
    assert.deepEqual(twice.attempts, [1, 2, 3])
    const always = failing(9)
    await assert.rejects(retry(always.fn, new RetryBudget(), { ...FAST, attempts: 4 }), down)
    assert.equal(always.attempts.length, 4)
    const once = failing(1)
    await assert.rejects(retry(once.fn, new RetryBudget(), { attempts: 1 }), down)
  })

  test('200 callers of a dead dependency share the retries of one budget', async () => {
    const budget = new RetryBudget({ ratio: 0.1, minPerSecond: 0, burst: 10 })
    let asked = 0
    const calls = Array.from({ length: 200 }, () =>
      retry(
        () => {
          asked++
          throw down
        },
        budget,
        FAST,
      ).catch(() => undefined),
    )
    await Promise.all(calls)
    assert.ok(asked >= 210 && asked <= 200 + 10 + 20, `asked ${asked} times`)
  })

  test('an attempt delayed by a stall of the event loop costs a retry like any other', async () => {
    const budget = new RetryBudget({ ratio: 0, minPerSecond: 0, burst: 1 })
    assert.equal(budget.take(0), true)
    let attempts = 0
    const stalled = async (): Promise<string> => {
      attempts++
      await new Promise(resolve => setTimeout(resolve, 15))
      block(100)
      await new Promise(resolve => setTimeout(resolve, 15))
      throw down
    }
    await assert.rejects(retry(stalled, budget, FAST), down)
    assert.equal(attempts, 1)
  })

  test('does not retry an abort, a refused call, or an error in the code', async () => {
    for (const error of [
      Object.assign(new Error('aborted'), { name: 'AbortError' }),
      new MeltproofError('MELTPROOF_OUTBOUND_FULL', 'full'),
      new MeltproofError('MELTPROOF_OUTBOUND_DOWN', 'down'),
      new TypeError('fetch failed', { cause: new MeltproofError('MELTPROOF_OUTBOUND_FULL', 'full') }),
      new MeltproofError('MELTPROOF_CANCELLED', 'left'),
      new TypeError('x is not a function'),
      'a string',
    ]) {
      const { fn, attempts } = failing(9, error)
      await assert.rejects(retry(fn, new RetryBudget(), FAST))
      assert.equal(attempts.length, 1, String(error))
    }
    const fetchFailed = failing(1, new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }))
    assert.equal(await retry(fetchFailed.fn, new RetryBudget(), FAST), 'up')
  })

  test('retryIf overrides which errors are retried', async () => {
    const { fn, attempts } = failing(9)
    await assert.rejects(retry(fn, new RetryBudget(), { ...FAST, retryIf: () => false }), down)
    assert.equal(attempts.length, 1)
  })

  test('starts no attempt after the deadline', async () => {
    const spent = new Budget(1)
    while (spent.remainingMs() > 0) await new Promise(resolve => setTimeout(resolve, 2))
    const { fn, attempts } = failing(9)
    await assert.rejects(
      runWithBudget(spent, () => retry(fn, new RetryBudget(), { baseMs: 0 })),
      down,
    )
    assert.equal(attempts.length, 1)
    spent.settle()
  })

  test('leaves no listener on its deadline, and stops its heartbeat', async () => {
    const deadline = new WatchedBudget(60_000)
    assert.equal(await runWithBudget(deadline, () => retry(failing(2).fn, new RetryBudget(), FAST)), 'up')
    assert.deepEqual([deadline.added, deadline.listeners.size], [2, 0])
    deadline.settle()
    await eventually('the heartbeat stops', () => !isBeating())
  })

  test('leaves no timer if its deadline passes while it waits', async t => {
    t.mock.method(Math, 'random', () => 0.5)
    const deadline = new WatchedBudget(60_000)
    const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
    const before = timers()
    const result = runWithBudget(deadline, () =>
      retry(failing(9).fn, new RetryBudget(), { baseMs: 60_000, maxWaitMs: 60_000 }),
    )
    await turn()
    assert.deepEqual([deadline.listeners.size, timers()], [1, before + 1])
    deadline.expire()
    await assert.rejects(result, down)
    assert.deepEqual([deadline.listeners.size, timers()], [0, before])
  })

  test('retry() started in an attempt but running after it has its own attempts and retries', async () => {
    const budget = new RetryBudget({ ratio: 1, minPerSecond: 0, burst: 10 })
    while (budget.take(0));
    const goesOn = Promise.withResolvers<void>()
    const later: Promise<string>[] = []
    const inner = failing(1)
    const outer = failing(1)
    await retry(
      count => {
        later.push(goesOn.promise.then(() => retry(inner.fn, budget, FAST)))
        return outer.fn(count)
      },
      budget,
      FAST,
    )
    assert.equal(budget.take(0), false, 'one earned, one taken')
    goesOn.resolve()
    assert.deepEqual(await Promise.all(later), ['up', 'up'])
    assert.deepEqual(inner.attempts.toSorted(), [1, 1, 2])
    assert.equal(budget.take(0), true, 'two more earned, one taken')
    assert.equal(budget.take(0), false)
  })

  test('rejects arguments of the wrong type and options out of range', async () => {
    const budget = new RetryBudget()
    const ok = (): string => 'up'
    await assert.rejects(retry('fn' as never, budget), isMeltproofError)
    await assert.rejects(retry(ok, { take: () => true } as never), /RetryBudget/)
    await assert.rejects(retry(ok, budget, { attempts: 0 }), /attempts must be/)
    await assert.rejects(retry(ok, budget, { baseMs: Number.NaN }), /baseMs must be/)
    await assert.rejects(retry(ok, budget, { maxWaitMs: -1 }), /maxWaitMs must be/)
    await assert.rejects(retry(ok, budget, { tries: 3 } as never), /does not know 'tries'/)
  })
})
