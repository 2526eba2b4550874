import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Budget } from '../../src/deadline/budget.ts'
import { currentBudget, runWithBudget } from '../../src/deadline/context.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { kept } from './kept.ts'
import { block } from '../block.ts'

test('property: however budgets nest, none has more left than its parent', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.constant(Number.POSITIVE_INFINITY)), { minLength: 1 }),
      limits => {
        let parent: Budget | undefined
        for (const limitMs of limits) {
          const budget: Budget = new Budget(limitMs, { parent })
          const aroundMs = parent?.remainingMs() ?? Number.POSITIVE_INFINITY
          assert.ok(budget.remainingMs() <= aroundMs + 1e-6)
          parent = budget
        }
      },
    ),
  )
})

test('the async context has the innermost budget, also after an await', async () => {
  assert.equal(currentBudget(), undefined)
  const outer = new Budget(1000)
  const inner = new Budget(500, { parent: outer })
  await runWithBudget(outer, async () => {
    await runWithBudget(inner, async () => {
      await new Promise(setImmediate)
      assert.equal(currentBudget(), inner)
    })
    assert.equal(currentBudget(), outer)
  })
  assert.equal(currentBudget(), undefined)
})

test('a budget has no timer until it has a listener or its signal is read', () => {
  const budget = new Budget(1000, { parent: new Budget(2000) })
  assert.ok(budget.remainingMs() > 900)
  assert.equal(pendingFairTimers(), 0)
})

test('at the deadline the signals of a budget and of all nested ones abort with the same reason', async () => {
  const outer = new Budget(30)
  const inner = new Budget(1000, { parent: outer })
  assert.ok(inner.limitMs <= 30)
  const { signal } = new Budget(Number.POSITIVE_INFINITY, { parent: inner })
  assert.equal(signal.aborted, false)
  await kept(new Promise(resolve => signal.addEventListener('abort', resolve)))
  assert.equal(signal.reason.code, 'MELTPROOF_DEADLINE_EXCEEDED')
  assert.equal(pendingFairTimers(), 0)
})

test('cancelling ends all nested budgets at once, and later ones have no time left', () => {
  const outer = new Budget(1000)
  const inner = new Budget(500, { parent: outer })
  const { signal } = inner
  const reason = new Error('the client has left')
  const heard: Error[] = []
  inner.onEnd(why => heard.push(why))
  outer.cancel(reason)
  outer.cancel(new Error('again'))
  assert.equal(signal.reason, reason)
  assert.deepEqual(heard, [reason])
  assert.equal(inner.remainingMs(), 0)
  assert.equal(outer.remainingMs(), 0)
  assert.equal(outer.signal.reason, reason)
  inner.onEnd(why => heard.push(why))
  assert.equal(heard.length, 2)
  assert.equal(new Budget(100, { parent: outer }).remainingMs(), 0)
  assert.equal(pendingFairTimers(), 0)
})

test('a settled budget is never aborted, and leaves no timer', () => {
  const outer = new Budget(1000)
  const inner = new Budget(500, { parent: outer })
  const { signal } = inner
  inner.settle()
  inner.settle()
  outer.cancel(new Error('later'))
  inner.cancel(new Error('later'))
  assert.equal(signal.aborted, false)
  assert.equal(pendingFairTimers(), 0)
})

test('stalls of the event loop extend a soft budget, but not a hard one', async () => {
  const soft = new Budget(100)
  const hard = new Budget(100, { hard: true })
  soft.watch() // stalls are known only while something watches
  await kept(new Promise(setImmediate))
  block(300)
  assert.ok(soft.remainingMs() > 50, `soft: ${soft.remainingMs()} ms left`)
  assert.equal(hard.remainingMs(), 0)
  assert.equal(new Budget(50, { parent: hard }).remainingMs(), 0)
  soft.settle()
})

/** A budget whose limit is removed when it expires. */
function liftedAfter(limitMs: number): { readonly outer: Budget; readonly isLifted: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const onExpired = (): boolean => {
    resolve()
    return false
  }
  return { outer: new Budget(limitMs, { onExpired }), isLifted: promise }
}

test('a budget gets its own limit, counted from its start, once the limit that it inherits is removed', async () => {
  const { outer, isLifted } = liftedAfter(60)
  const inner = new Budget(150, { parent: outer })
  inner.watch()
  assert.ok(inner.limitMs <= 60)
  outer.watch()
  await kept(isLifted)
  assert.equal(inner.reason, undefined)
  assert.equal(inner.limitMs, 150)
  assert.ok(inner.remainingMs() > 0, `${inner.remainingMs()} ms left`)
  await kept(new Promise<void>(resolve => inner.onEnd(() => resolve())))
  assert.equal((inner.reason as { code?: string } | undefined)?.code, 'MELTPROOF_DEADLINE_EXCEEDED')
  outer.settle()
  assert.equal(pendingFairTimers(), 0)
})

test('a budget gets its own limit once its parent has settled, within the budget around that', () => {
  const outermost = new Budget(10_000)
  const outer = new Budget(100, { parent: outermost })
  const inner = new Budget(1000, { parent: outer })
  const longest = new Budget(Number.POSITIVE_INFINITY, { parent: outer })
  for (const budget of [inner, longest]) budget.watch()
  outer.settle()
  assert.ok(inner.limitMs === 1000 && inner.remainingMs() > 900)
  assert.ok(longest.remainingMs() > 9000 && longest.remainingMs() <= 10_000)
  const reason = new Error('the client has left')
  outermost.cancel(reason)
  assert.deepEqual([inner.reason, longest.reason], [reason, reason])
  assert.equal(pendingFairTimers(), 0)
})

test('a lifted parent still ends the budgets inside it when it is cancelled', async () => {
  const { outer, isLifted } = liftedAfter(20)
  const inner = new Budget(10_000, { parent: outer })
  inner.watch()
  outer.watch()
  await kept(isLifted)
  assert.equal(inner.limitMs, 10_000)
  const reason = new Error('the client has left')
  outer.cancel(reason)
  assert.equal(inner.reason, reason)
  assert.equal(pendingFairTimers(), 0)
})
