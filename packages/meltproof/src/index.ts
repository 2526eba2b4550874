/** meltproof: keeps a Node.js service answering, honestly and at full capacity, when load would melt it. */
export { ERROR_CODES, type ErrorCode, isMeltproofError, MeltproofError } from './errors.ts'
export type { ShedReason } from './admission/gate.ts'
export type { Guard, GuardStats } from './server/guard.ts'
export { protect } from './server/protect.ts'
export type { ProtectOptions } from './server/protect-options.ts'
