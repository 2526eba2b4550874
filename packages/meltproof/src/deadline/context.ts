import { AsyncLocalStorage } from 'node:async_hooks'
import { Budget, type BudgetOptions } from './budget.ts'
import { DeadlineExceededError } from './deadline-error.ts'

const storage = new AsyncLocalStorage<Budget | undefined>()

/** An interval that the work has started keeps the budget in its async context, so a budget that is over is skipped. */
export function currentBudget(): Budget | undefined {
  return storage.getStore()?.lasting
}

export function runWithBudget<R>(budget: Budget, fn: () => R): R {
  return storage.run(budget, fn)
}

/**
 * Calls `fn` outside every budget, and returns its result: no deadline ends the work that `fn` starts, or refuses its
 * calls. For cleanup that must run even after a deadline. Limits of a single call, such as the `queryMs` of a bound
 * database, still apply.
 *
 * @example finally { await unbounded(() => unlock(key)) }
 */
export function unbounded<R>(fn: () => R): R {
  return storage.run(undefined, fn)
}

const LEAST_MS = 1

/**
 * Opens a budget of `limitMs` at most, within the budget of the running code, or within `parent` if `options` has that
 * key (even as undefined). Returns an error when less than `needsMs` is left: the reason of the outer budget if that
 * has ended, otherwise a DeadlineExceededError with phase `refused`.
 */
export function openBudget(limitMs: number, options: BudgetOptions & { readonly needsMs?: number }): Budget | Error {
  const parent = 'parent' in options ? options.parent : currentBudget()
  if (parent?.reason !== undefined) return parent.reason
  const budget = new Budget(limitMs, { ...options, parent })
  if (budget.limitMs >= (options.needsMs ?? LEAST_MS)) return budget
  const facts = { phase: 'refused', limitMs: budget.limitMs, waitedMs: 0, ownStallMs: 0, what: options.what } as const
  return new DeadlineExceededError(facts)
}
