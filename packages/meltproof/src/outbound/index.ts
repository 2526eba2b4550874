/** meltproof/outbound: no call to a dependency hangs for ever, and no timeout is our own stall. */
export { DeadlineExceededError } from '../deadline/deadline-error.ts'
export { bound, install, type Uninstall } from './install.ts'
export type { CallLimits, OutboundLimits } from './limits.ts'
export { retry, type RetryOptions } from './retry.ts'
export { RetryBudget, type RetryBudgetOptions } from './retry-budget.ts'
