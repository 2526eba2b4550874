/** The candidate as the gate of today wants a limiter: kinds play no part. */
import type { Limiter } from '../../../src/admission/limiter/limiter.ts'
import { EvidenceLimiter } from './evidence-limiter.ts'

/** For the simulator: stragglers keep their permits, and a handler whose client left counts as answered when it ends. */
export interface CountsAll extends Limiter {
  readonly countsAll: true
}

export function evidence(busyMs: () => number): CountsAll {
  const limiter = new EvidenceLimiter(busyMs)
  return {
    countsAll: true,
    get limit() {
      return limiter.limit
    },
    get usualLimit() {
      return limiter.usualLimit
    },
    get known() {
      return limiter.known
    },
    get searching() {
      return limiter.searching
    },
    get uncounted() {
      return limiter.uncounted
    },
    get excess() {
      return limiter.excess
    },
    get ticket() {
      return limiter.ticket
    },
    goesOn: nowMs => limiter.goesOn(nowMs),
    admitted: nowMs => limiter.admitted(nowMs),
    completed: (nowMs, serviceMs, _kind, _inServiceThen, ticket) => limiter.completed(nowMs, serviceMs, ticket),
    dropped: (nowMs, serviceMs = 0, _kind, ticket) => limiter.dropped(nowMs, serviceMs, ticket),
    limitReached: nowMs => limiter.limitReached(nowMs),
    tick: nowMs => limiter.tick(nowMs),
    limitCleared: nowMs => limiter.limitCleared(nowMs),
    invalidated: nowMs => limiter.invalidated(nowMs),
  }
}
