/**
 * The rule of a fair timer. Pure. A limit is time a dependency may take; time in which our own loop was stalled is given
 * back. Never more than the limit itself, so a loop that stalls for ever doubles a timeout and does not lift it; and
 * nothing later than `creditCapMs` after the limit, so an inherited deadline stays one.
 */

/** Less than this is not worth a timer of its own, ms. */
const LEAST_CREDIT_MS = 1

export interface FairState {
  readonly limitMs: number
  /** Wall time since the start. */
  readonly elapsedMs: number
  /** How much of it our loop was stalled. */
  readonly stalledMs: number
  /** Given back so far. */
  readonly givenMs: number
  readonly creditCapMs: number
}

/** How much longer to wait, ms. */
export function creditDue({ limitMs, elapsedMs, stalledMs, givenMs, creditCapMs }: FairState): number {
  const unstalledMs = elapsedMs - stalledMs
  const credit = Math.min(limitMs - unstalledMs, limitMs - givenMs, limitMs + creditCapMs - elapsedMs)
  return credit >= LEAST_CREDIT_MS ? credit : 0
}
