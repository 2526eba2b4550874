/** meltproof/outbound: no call hangs for ever, and a stall of this process extends limits, at most twofold. */
export { DeadlineExceededError } from '../deadline/deadline-error.ts'
export { bound, install, type Uninstall } from './install.ts'
export type { CallLimits, OutboundLimits } from './limits.ts'
export { retry, type RetryOptions } from './retry.ts'
export { RetryBudget, type RetryBudgetOptions } from './retry-budget.ts'
