/**
 * The rule of a fair timer: how much longer to wait, ms. Pure. A limit is extended by the time in which the event loop
 * was stalled. The extension is at most the limit itself, so that a loop that stalls for ever doubles a timeout but
 * does not disable it; and at most `creditCapMs`, so that an inherited deadline holds.
 */

/** A shorter extension is not worth setting a timer for, ms. */
const LEAST_CREDIT_MS = 1

export interface FairState {
  readonly limitMs: number
  readonly elapsedMs: number
  readonly stalledMs: number
  /** How long the limit was extended so far. */
  readonly givenMs: number
  readonly creditCapMs: number
}

export function creditDue({ limitMs, elapsedMs, stalledMs, givenMs, creditCapMs }: FairState): number {
  const unstalledMs = elapsedMs - stalledMs
  const credit = Math.min(limitMs - unstalledMs, limitMs - givenMs, limitMs + creditCapMs - elapsedMs)
  return credit >= LEAST_CREDIT_MS ? credit : 0
}
