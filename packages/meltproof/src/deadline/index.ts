/** meltproof/deadline: time limits on any work that do not pass because of this process's own stalls. */
export { unbounded } from './context.ts'
export { DeadlineExceededError, type DeadlinePhase } from './deadline-error.ts'
export { remaining, within, type WithinOptions } from './within.ts'
