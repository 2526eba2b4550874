/**
 * The rule of a fair timer: how much longer to wait, ms. Pure. Time in which our own loop was stalled is given back:
 * never more than the limit itself, so a loop that stalls for ever doubles a timeout and does not lift it; and nothing
 * later than `creditCapMs` after the limit, so an inherited deadline stays one.
 */

/** Less than this is not worth a timer of its own, ms. */
const LEAST_CREDIT_MS = 1

export interface FairState {
  readonly limitMs: number
  readonly elapsedMs: number
  readonly stalledMs: number
  /** Given back so far. */
  readonly givenMs: number
  readonly creditCapMs: number
}

export function creditDue({ limitMs, elapsedMs, stalledMs, givenMs, creditCapMs }: FairState): number {
  const unstalledMs = elapsedMs - stalledMs
  const credit = Math.min(limitMs - unstalledMs, limitMs - givenMs, limitMs + creditCapMs - elapsedMs)
  return credit >= LEAST_CREDIT_MS ? credit : 0
}
