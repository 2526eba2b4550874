/** Recognises an error that means: a deadline passed while somebody else kept us waiting. That is a 504. */

export const GATEWAY_TIMEOUT = 504
export const GATEWAY_TIMEOUT_TEXT = 'The deadline passed while waiting for something this answer needs.'

/** By its code, across duplicate installs. */
export function gaveUpWaiting(error: unknown): boolean {
  return (error as { code?: unknown } | null | undefined)?.code === 'MELTPROOF_DEADLINE_EXCEEDED'
}
