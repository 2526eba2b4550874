import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Budget } from '../../src/deadline/budget.ts'
import { currentBudget, runWithBudget } from '../../src/deadline/context.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { kept } from './kept.ts'
import { block } from '../block.ts'

test('property: however budgets nest, none has more left than the one around it', () => {
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

test('the context carries the innermost budget, also across awaits', async () => {
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

test('without a listener and before its signal is read a budget has no timer', () => {
  const budget = new Budget(1000, { parent: new Budget(2000) })
  assert.ok(budget.remainingMs() > 900)
  assert.equal(pendingFairTimers(), 0)
})

test('when the time is up the signal aborts, and so does that of every budget within, with the same reason', async () => {
  const outer = new Budget(30)
  const inner = new Budget(1000, { parent: outer })
  assert.ok(inner.limitMs <= 30)
  const { signal } = new Budget(Number.POSITIVE_INFINITY, { parent: inner })
  assert.equal(signal.aborted, false)
  await kept(new Promise(resolve => signal.addEventListener('abort', resolve)))
  assert.equal(signal.reason.code, 'MELTPROOF_DEADLINE_EXCEEDED')
  assert.equal(pendingFairTimers(), 0)
})

test('cancelling ends all within at once, and what is asked afterwards is ended already', () => {
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

test('settled work is never aborted, and leaves no timer', () => {
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

test('own stalls are given back to a soft budget and not to a hard one', async () => {
  const soft = new Budget(100)
  const hard = new Budget(100, { hard: true })
  soft.watch() // Stalls are known while something watches.
  await kept(new Promise(setImmediate))
  block(300)
  assert.ok(soft.remainingMs() > 50, `soft: ${soft.remainingMs()} ms left`)
  assert.equal(hard.remainingMs(), 0)
  assert.equal(new Budget(50, { parent: hard }).remainingMs(), 0)
  soft.settle()
})
