/** The grace periods of budgets that have ended: cleanup may still run in them. */
import { Budget, type BudgetOptions } from '../deadline/budget.ts'
import { openBudget } from '../deadline/context.ts'
import { GRACE_MS } from './limits.ts'

export class Graces {
  readonly #byBudget = new WeakMap<Budget, Budget>()

  /** Returns the rest of the grace period of `ended`, which starts at the first call, or `refusal` once it is over. */
  open(ended: Budget | undefined, options: BudgetOptions, refusal: Error): Budget | Error {
    const grace = (ended && this.#byBudget.get(ended)) ?? new Budget(GRACE_MS)
    if (ended !== undefined) this.#byBudget.set(ended, grace)
    const budget = openBudget(Number.POSITIVE_INFINITY, { ...options, parent: grace })
    return budget instanceof Budget ? budget : refusal
  }
}
