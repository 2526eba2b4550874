/**
 * What stands between the gate and whatever decides how many requests may be in service at once.
 * A limiter is pure: it is told what happened and when, and answers with a number.
 */
export interface Limiter {
  /** How many requests may be in service at once: a whole number, at least 1. */
  readonly limit: number
  /** True while the limit is being raised because nothing speaks against it: overload is not established yet. */
  readonly searching: boolean
  /** A request of a kind (fair-shares.ts) entered service. */
  admitted(nowMs: number, kind?: number): void
  /** How many of a kind are in service now; asked when one has entered, and told again in {@link completed}. */
  inService?(kind: number): number
  /** A request was answered after `serviceMs`. `inServiceThen`: how many of its kind were in service when it came, with it. */
  completed(nowMs: number, serviceMs: number, kind?: number, inServiceThen?: number): void
  /**
   * A request does not count as in service any more though it is not over: its client left, or it is a straggler
   * (stragglers.ts). What it took teaches nothing. `serviceMs`: for how long it counted, where that is known.
   */
  dropped(nowMs: number, serviceMs?: number, kind?: number): void
  /** The client of a request in service does not wait for it any more; the request is still in service. */
  gaveUp?(kind?: number): void
  /** From now on the limit, and nothing else, keeps a waiting request waiting. */
  limitReached(nowMs: number): void
  /** Somebody still waits. Called from time to time meanwhile, at least every tenth of a second. */
  tick(nowMs: number): void
  /** Nobody waits on account of the limit any more. */
  limitCleared(nowMs: number): void
  /** The loop could not turn for so long that what is being measured says nothing about the limit. */
  invalidated(nowMs: number): void
}

/** A limiter that never changes its mind, for operators who know their number. */
export function fixedLimit(limit: number): Limiter {
  const nothing = (): void => {}
  return {
    limit,
    searching: false,
    admitted: nothing,
    completed: nothing,
    dropped: nothing,
    limitReached: nothing,
    tick: nothing,
    limitCleared: nothing,
    invalidated: nothing,
  }
}
