/** meltproof: keeps a Node.js service answering under overload. */

export type { Criticality, CriticalityAnswer } from './admission/queue/criticality.ts'
export type { ShedReason } from './admission/sheds.ts'
export { ERROR_CODES, type ErrorCode, isMeltproofError, MeltproofError } from './errors.ts'
export type { ClientKey } from './server/request/client-key.ts'
export { type Guard, type GuardStats, pressureOf } from './server/guard.ts'
export { protect } from './server/protect.ts'
export type { ProtectOptions } from './server/protect-options.ts'
export type { ReadinessOptions } from './server/operate/readiness.ts'
