/** Combines a learned limit with another one, the cap. While the cap is lower, the learned limit does not learn. */
import type { Limiter } from '../admission/limiter/limiter.ts'

export function limiterBelow(cap: () => number, learned: Limiter): Limiter {
  const binds = (): boolean => cap() < learned.limit
  let isWithheld = false
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
      return binds() ? 0 : learned.uncounted
    },
    isProgressing: nowMs => learned.isProgressing?.(nowMs) === true,
    get excess() {
      return binds() ? 0 : (learned.excess ?? 0)
    },
    get ticket() {
      return learned.ticket
    },
    admitted: nowMs => learned.admitted(nowMs),
    completed: (nowMs, serviceMs, ticket) => learned.completed(nowMs, serviceMs, ticket),
    dropped: (nowMs, serviceMs, ticket) => learned.dropped(nowMs, serviceMs, ticket),
    get reason() {
      return binds() ? 'set' : learned.reason!
    },
    limitReached: nowMs => {
      if (binds()) isWithheld = true
      else learned.limitReached(nowMs)
    },
    tick: nowMs => {
      // The cap has risen, and the calls that waited for it now wait for the learned limit.
      if (isWithheld && !binds()) {
        isWithheld = false
        learned.limitReached(nowMs)
      }
      learned.tick(nowMs)
    },
    limitCleared: nowMs => {
      isWithheld = false
      learned.limitCleared(nowMs)
    },
  }
}
