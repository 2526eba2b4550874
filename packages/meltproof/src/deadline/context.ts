/** Which budget the code that runs now works under. The only file that knows where it is kept. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Budget } from './budget.ts'

const storage = new AsyncLocalStorage<Budget>()

/** The innermost budget that was opened around the running code, if any. */
export function currentBudget(): Budget | undefined {
  return storage.getStore()
}

/** Runs `fn`, and whatever it starts, under `budget`. */
export function runWithBudget<R>(budget: Budget, fn: () => R): R {
  return storage.run(budget, fn)
}
