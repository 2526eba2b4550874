/** meltproof/limiter: the same admission control for queue consumers, WebSocket messages and other work. */
export type { Criticality, CriticalityAnswer } from '../admission/queue/criticality.ts'
export type { ShedReason } from '../admission/sheds.ts'
export { type Limiter, limiter, type LimiterStats } from './limiter.ts'
export type { LimiterOptions, RunOptions } from './options.ts'
export { ShedError } from './shed-error.ts'
