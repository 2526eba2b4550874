/** meltproof/outbound: no call hangs for ever, and none times out because of this process's own stalls. */
export { DeadlineExceededError } from '../deadline/deadline-error.ts'
export { bound, install, type Uninstall } from './install.ts'
export type { CallLimits, OutboundLimits } from './limits.ts'
export { retry, type RetryOptions } from './retry.ts'
export { RetryBudget, type RetryBudgetOptions } from './retry-budget.ts'
