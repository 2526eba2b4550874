/** A learned limit that another one may be below: then that is what binds, and the learned one is not to learn from it. */
import type { Limiter } from '../admission/limiter/limiter.ts'

export function limiterBelow(cap: () => number, learned: Limiter): Limiter {
  const binds = (): boolean => cap() < learned.limit
  const below = (limit: number): number => Math.max(1, Math.min(limit, cap()))
  return {
    get limit() {
      return below(learned.limit)
    },
    get usualLimit() {
      return below(learned.usualLimit ?? learned.limit)
    },
    get known() {
      return binds() || learned.known === true
    },
    get searching() {
      return !binds() && learned.searching
    },
    get uncounted() {
      return binds() ? 0 : (learned.uncounted ?? 0)
    },
    goesOn: nowMs => learned.goesOn?.(nowMs) === true,
    get excess() {
      return binds() ? 0 : (learned.excess ?? 0)
    },
    get ticket() {
      return learned.ticket!
    },
    admitted: nowMs => learned.admitted(nowMs),
    completed: (nowMs, serviceMs, ticket) => learned.completed(nowMs, serviceMs, ticket),
    dropped: (nowMs, serviceMs, ticket) => learned.dropped(nowMs, serviceMs, ticket),
    limitReached: nowMs => {
      if (!binds()) learned.limitReached(nowMs)
    },
    tick: nowMs => learned.tick(nowMs),
    limitCleared: nowMs => learned.limitCleared(nowMs),
    invalidated: nowMs => learned.invalidated(nowMs),
  }
}
