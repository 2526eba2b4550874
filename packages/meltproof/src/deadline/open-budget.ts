/** Opens a budget within that of the running code, or says why the work is not worth starting. */
import { Budget, type BudgetOptions } from './budget.ts'
import { currentBudget } from './context.ts'
import { DeadlineExceededError } from './deadline-error.ts'

export interface OpenOptions extends BudgetOptions {
  /** With less than this left the work is refused, ms. */
  readonly needsMs?: number
}

/** With less than this left nothing is worth starting, ms. */
const LEAST_MS = 1

/**
 * A budget of `limitMs` at most. Where too little is left, what the work is refused with: a DeadlineExceededError of
 * phase `refused`, or the reason for which the budget around has ended. `parent` present but undefined is none.
 */
export function openBudget(limitMs: number, options: OpenOptions): Budget | Error {
  const parent = 'parent' in options ? options.parent : currentBudget()
  if (parent?.reason !== undefined) return parent.reason
  const budget = new Budget(limitMs, { ...options, parent })
  if (budget.limitMs >= (options.needsMs ?? LEAST_MS)) return budget
  const facts = { phase: 'refused', limitMs: budget.limitMs, waitedMs: 0, ownStallMs: 0, what: options.what } as const
  return new DeadlineExceededError(facts)
}
