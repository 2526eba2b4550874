/**
 * What the gate knows of a limiter. A limiter is pure: it is told what happened and when, and answers with a number.
 */
export interface Limiter {
  /** How many requests may be in service at once: a whole number, at least 1. */
  readonly limit: number
  /** The same, where a lower one is only being tried. @default limit */
  readonly usualLimit?: number
  /** Whether it was found, or set: a limit that never bound says nothing. */
  readonly known?: boolean
  /** True while the limit still rises and overload is not established. */
  readonly searching: boolean
  /** The loop works or answers come, as far as is known: what waits gets its turn. */
  goesOn?(nowMs: number): boolean
  /** How many of those in service the limit does not count: it grew by as many. */
  readonly uncounted?: number
  /** In service above the limit: they leave before a request that waits gets a place. */
  readonly excess?: number
  /** What it knows the request by that was admitted last, if it tells requests apart. */
  readonly ticket?: number
  admitted(nowMs: number, kind?: number): void
  inService?(kind: number): number
  /** `inServiceThen`: how many of its kind were in service when it came, including it. */
  completed(nowMs: number, serviceMs: number, kind?: number, inServiceThen?: number, ticket?: number): void
  /** A request no longer counts: its client left or it straggles. `serviceMs`: how long it counted, where known. */
  dropped(nowMs: number, serviceMs?: number, kind?: number, ticket?: number): void
  gaveUp?(kind?: number): void
  limitReached(nowMs: number): void
  tick(nowMs: number): void
  limitCleared(nowMs: number): void
  /** The loop stalled for so long that the current measurement says nothing about the limit. */
  invalidated(nowMs: number): void
}

export function fixedLimit(limit: number): Limiter {
  const nothing = (): void => {}
  return {
    limit,
    known: true,
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
