/**
 * A law from outside, kept to its word: a limit that is not a whole number of at least 1 is an exception, on which the
 * door fails open and says so, instead of a server that silently starts nobody. Pure.
 */
import type { LimitLaw } from './limit.ts'

export function checkedLaw(law: LimitLaw): LimitLaw {
  return {
    get limit(): number {
      const { limit } = law
      if (!(Number.isInteger(limit) && limit >= 1)) {
        throw new RangeError(`a LimitLaw's limit must be a whole number of at least 1; got ${String(limit)}`)
      }
      return limit
    },
    get searching(): boolean {
      return law.searching === true
    },
    admitted: nowMs => law.admitted(nowMs),
    completed: (nowMs, serviceMs) => law.completed(nowMs, serviceMs),
    deserted: nowMs => law.deserted(nowMs),
    bound: nowMs => law.bound(nowMs),
    tick: nowMs => law.tick(nowMs),
    unbound: nowMs => law.unbound(nowMs),
    disturbed: nowMs => law.disturbed(nowMs),
  }
}

/** What a LimitLaw must have besides `limit` and `searching`. */
export const LAW_METHODS = ['admitted', 'completed', 'deserted', 'bound', 'tick', 'unbound', 'disturbed'] as const
