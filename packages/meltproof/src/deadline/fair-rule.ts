/**
 * The rule of a fair timer, pure. A limit is time a dependency may take; time in which our own loop could not turn is
 * ours and is given back. When the limit has passed on the wall, the timer waits on for what of the limit was stalled.
 *
 * Bounded twice. All that is given back adds up to no more than the limit itself, so a loop that stalls for ever can
 * double a timeout but not lift it. And nothing is given back beyond `creditCapMs` after the limit, which is how an
 * inherited deadline stays a deadline.
 */

/** Less than this is not worth a timer of its own, ms. */
export const LEAST_CREDIT_MS = 1

export interface FairState {
  readonly limitMs: number
  /** Wall time since the start. */
  readonly elapsedMs: number
  /** How much of it our loop was stalled. */
  readonly stalledMs: number
  /** What has been given back already. */
  readonly givenMs: number
  /** How long after the limit the last verdict may be, ms. */
  readonly creditCapMs: number
}

/** How much longer to wait; 0 when the limit has had its full time awake. */
export function creditDue({ limitMs, elapsedMs, stalledMs, givenMs, creditCapMs }: FairState): number {
  const unstalledMs = elapsedMs - stalledMs
  const credit = Math.min(limitMs - unstalledMs, limitMs - givenMs, limitMs + creditCapMs - elapsedMs)
  return credit >= LEAST_CREDIT_MS ? credit : 0
}
