import { whyShed } from '../admission/explanation.ts'
import type { LastShed, ShedReason } from '../admission/sheds.ts'
import { MeltproofError } from '../errors.ts'

/** `retryAfterMs` is random in this range, ms, because clients that retry together would cause the next overload. */
const RETRY_AFTER_MS = { least: 1000, most: 5000 }

/** A limiter shed the work: nothing of it was started, and it may be retried later. */
export class ShedError extends MeltproofError {
  override readonly name: string = 'ShedError'
  declare readonly code: 'MELTPROOF_SHED'
  readonly reason: ShedReason
  /** When to retry, ms: random, from 1,000 to 5,000. */
  readonly retryAfterMs: number
  /** How long the work had waited, ms. */
  readonly waitedMs: number

  constructor(shed: LastShed, waitedMs: number) {
    const { least, most } = RETRY_AFTER_MS
    const retryAfterMs = least + Math.floor(Math.random() * (most - least + 1))
    super('MELTPROOF_SHED', `Shed: ${whyShed(shed)}. Try again in ${(retryAfterMs / 1000).toFixed(1)} s.`)
    this.reason = shed.reason
    this.retryAfterMs = retryAfterMs
    this.waitedMs = waitedMs
  }
}
