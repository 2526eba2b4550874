import type { Ticket } from './cohorts.ts'

/** The gate's interface to a limiter, which is pure: callers report what happened and when, and read the limit. */
export interface Limiter {
  /** How many requests may be in service at once: a whole number, at least 1. */
  readonly limit: number
  /** {@link limit}, or the previous one while a lower limit is tried or requests are only held back. @default limit */
  readonly usualLimit?: number
  /** True if the limit is set by the operator or learned. Until then `limit` says nothing. */
  readonly known?: boolean
  /** Why the limit has its value. @default 'set' */
  readonly reason?: LimitReason
  /** True while contention is only suspected, or earlier requests must still leave: a queue then shows no overload. */
  readonly searching: boolean
  /** True if the loop works or answers arrive, as far as is known, so that waiting requests will start. */
  isProgressing?(nowMs: number): boolean
  /** For a learned limit: true while the event loop has room, so that quick work need not wait. */
  readonly loopHasRoom?: boolean
  /** Number of requests in service that do not count: {@link limit} is raised by this number. */
  readonly uncounted: number
  /** Number in service above the limit: these must leave before a waiting request gets a permit. */
  readonly excess?: number
  /** Identifies the request that was admitted last, for {@link completed} and {@link dropped}. */
  readonly ticket?: Ticket | undefined
  admitted(nowMs: number): void
  completed(nowMs: number, serviceMs: number, ticket?: Ticket): void
  /** A request leaves whose duration says nothing about the service. `serviceMs`: time since it entered service. */
  dropped(nowMs: number, serviceMs: number, ticket?: Ticket): void
  limitReached(nowMs: number): void
  tick(nowMs: number): void
  limitCleared(nowMs: number): void
}

/**
 * - `set`: by the operator.
 * - `none`: nothing shows that requests wait for each other.
 * - `suspected`: requests took longer with more in service; the limit lasts a second at most unless this is confirmed.
 * - `busy`: the event loop has been busy for 40 ms, and it is not known yet whether it stays busy.
 * - `loop`: the event loop never rests.
 * - `contention`: requests wait for each other outside the event loop, for example in a connection pool.
 * - `halt`: requests are in service, and none is answered any more.
 */
export type LimitReason = 'set' | 'none' | 'suspected' | 'busy' | 'loop' | 'contention' | 'halt'

export function fixedLimit(limit: number): Limiter {
  const nothing = (): void => {}
  return {
    limit,
    uncounted: 0,
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
