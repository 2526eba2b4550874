/** Which budget the running code works under, and how one is opened within it. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Budget, type BudgetOptions } from './budget.ts'
import { DeadlineExceededError } from './deadline-error.ts'

const storage = new AsyncLocalStorage<Budget | undefined>()

export function currentBudget(): Budget | undefined {
  return storage.getStore()
}

export function runWithBudget<R>(budget: Budget, fn: () => R): R {
  return storage.run(budget, fn)
}

/**
 * Calls `fn` outside of every budget, and returns what it returns: no deadline ends what it starts, and nothing that it
 * calls is refused for want of time. For a cleanup that must run however the work before it ended. Limits that a
 * call has of its own, such as the `queryMs` of a bound database, still count.
 *
 * @example finally { await unbounded(() => unlock(key)) }
 */
export function unbounded<R>(fn: () => R): R {
  return storage.run(undefined, fn)
}

const LEAST_MS = 1

/**
 * A budget of `limitMs` at most, within that of the running code, or within `parent` when that is given (also
 * undefined). An error when less than `needsMs` is left: the reason of a budget that has ended, or a
 * DeadlineExceededError of phase `refused`.
 */
export function openBudget(limitMs: number, options: BudgetOptions & { readonly needsMs?: number }): Budget | Error {
  const parent = 'parent' in options ? options.parent : currentBudget()
  if (parent?.reason !== undefined) return parent.reason
  const budget = new Budget(limitMs, { ...options, parent })
  if (budget.limitMs >= (options.needsMs ?? LEAST_MS)) return budget
  const facts = { phase: 'refused', limitMs: budget.limitMs, waitedMs: 0, ownStallMs: 0, what: options.what } as const
  return new DeadlineExceededError(facts)
}
