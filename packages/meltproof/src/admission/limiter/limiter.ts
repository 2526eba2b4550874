/**
 * What the gate knows of a limiter. A limiter is pure: it gets what happened and when, and answers with a number.
 */
export interface Limiter {
  /** How many requests may be in service at once: a whole number, at least 1. */
  readonly limit: number
  /** The same, where a lower one is only being tried. @default limit */
  readonly usualLimit?: number
  /** Whether it was found, or set: a limit that never bound says nothing. */
  readonly known?: boolean
  /** Why the limit is what it is. @default 'set' */
  readonly reason?: LimitReason
  /** True while a limit is only a suspicion: what waits for it is no overload. */
  readonly searching: boolean
  /** The loop works or answers come, as far as is known: what waits gets its turn. */
  goesOn?(nowMs: number): boolean
  /** True while the event loop has room, where the limit is learned: what leaves quickly need not wait. */
  readonly loopHasRoom?: boolean
  /** How many of those in service the limit does not count: it grew by as many. */
  readonly uncounted?: number
  /** In service above the limit: they leave before a request that waits gets a place. */
  readonly excess?: number
  /** Identifies the request that was admitted last, for {@link completed} and {@link dropped}. */
  readonly ticket?: number
  admitted(nowMs: number): void
  completed(nowMs: number, serviceMs: number, ticket?: number): void
  /** A request no longer counts, and how long it took says nothing. `serviceMs`: how long it counted. */
  dropped(nowMs: number, serviceMs: number, ticket?: number): void
  limitReached(nowMs: number): void
  tick(nowMs: number): void
  limitCleared(nowMs: number): void
}

/**
 * - `set`: by the operator.
 * - `none`: nothing shows that requests wait for each other.
 * - `suspected`: requests took longer among more; the number in service is held for a second at most.
 * - `loop`: the event loop never rests.
 * - `contention`: requests wait for each other behind the loop.
 * - `halt`: requests are in service, and none is answered any more.
 */
export type LimitReason = 'set' | 'none' | 'suspected' | 'loop' | 'contention' | 'halt'

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
  }
}
