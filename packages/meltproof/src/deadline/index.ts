/** meltproof/deadline: time limits on any work, which this process's own stalls extend. */
export { unbounded } from './context.ts'
export { DeadlineExceededError, type DeadlinePhase } from './deadline-error.ts'
export { remaining, within, type WithinOptions } from './within.ts'
