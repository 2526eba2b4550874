/**
 * What the gate knows of a limiter. A limiter is pure: it gets what happened and when, and answers with a number.
 */
export interface Limiter {
  /** How many requests may be in service at once: a whole number, at least 1. */
  readonly limit: number
  /** {@link limit}, or the usual one while a lower limit is only being tried. @default limit */
  readonly usualLimit?: number
  /** Whether the limit was found or set: one that was never reached says nothing. */
  readonly known?: boolean
  /** Why the limit is what it is. @default 'set' */
  readonly reason?: LimitReason
  /** True while a limit is only a suspicion: requests that wait for it are not an overload. */
  readonly searching: boolean
  /** The loop works, or answers come, as far as is known: waiting requests will get their turn. */
  isProgressing?(nowMs: number): boolean
  /** For a learned limit: true while the event loop has room, so that quick work need not wait. */
  readonly loopHasRoom?: boolean
  /** Number of requests in service that the limit does not count; it grew by this number. */
  readonly uncounted?: number
  /** Number in service above the limit: these must leave before a waiting request gets a permit. */
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
