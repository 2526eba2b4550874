/** meltproof/deadline: limits on any work, that are never our own fault. */
export { unbounded } from './context.ts'
export { DeadlineExceededError, type DeadlinePhase } from './deadline-error.ts'
export { remaining, within, type WithinOptions } from './within.ts'
