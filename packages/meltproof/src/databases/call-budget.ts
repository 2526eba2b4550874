/** A budget for one call to a database, within whatever budget the running code has. */
import { Budget } from '../deadline/budget.ts'
import { currentBudget } from '../deadline/context.ts'
import { DeadlineExceededError, type DeadlinePhase } from '../deadline/deadline-error.ts'

/** With less than this left a call is refused rather than sent, ms. */
const LEAST_MS = 1

/**
 * Opens a budget of `limitMs` at most. `parent`: null for none. Where no time is left to even start, gives what the
 * call is refused with: a DeadlineExceededError of phase `refused`, or the reason for which the budget around has ended.
 */
export function openCallBudget(
  limitMs: number,
  phase: DeadlinePhase,
  what: string,
  parent: Budget | null | undefined = currentBudget(),
): Budget | Error {
  if (parent?.reason !== undefined) return parent.reason
  const budget = new Budget(limitMs, { parent: parent ?? undefined, phase, what })
  if (budget.limitMs >= LEAST_MS) return budget
  return new DeadlineExceededError({ phase: 'refused', limitMs: budget.limitMs, waitedMs: 0, ownStallMs: 0, what })
}
