/**
 * A law from outside, kept to its word: a limit that is not a whole number of at least 1 is an exception, on which the
 * door fails open and says so, instead of a server that silently starts nobody. A method that is async may be: nothing
 * of its answer is needed. But that it failed is said once, and its rejection does not become the app's. Pure.
 */
import { show, showThrown } from '../options.ts'
import type { LimitLaw } from './limit.ts'
import { caughtPromise } from './promise-like.ts'

export function checkedLaw(law: LimitLaw, note: (text: string) => void): LimitLaw {
  let said = false
  const done = (method: string, answer: unknown): void => {
    if (answer === undefined) return
    caughtPromise(answer, reason => {
      if (!said) note(`the limit's ${method}() rejected with ${showThrown(reason)}; ${ASYNC_METHOD}`)
      said = true
    })
  }
  return {
    get limit(): number {
      const { limit } = law
      if (Number.isInteger(limit) && limit >= 1) return limit
      caughtPromise(limit)
      throw new RangeError(
        `a LimitLaw's limit must be a whole number of at least 1 whenever it is read; got ${show(limit)}. ` +
          'Correct the law given as limit: what it can not know at once it must learn beforehand.',
      )
    },
    get searching(): boolean {
      const { searching } = law
      if (typeof searching === 'object') caughtPromise(searching)
      return searching === true
    },
    admitted: (nowMs, kind) => done('admitted', law.admitted(nowMs, kind)),
    completed: (nowMs, serviceMs, kind) => done('completed', law.completed(nowMs, serviceMs, kind)),
    deserted: (nowMs, serviceMs, kind) => done('deserted', law.deserted(nowMs, serviceMs, kind)),
    bound: nowMs => done('bound', law.bound(nowMs)),
    tick: nowMs => done('tick', law.tick(nowMs)),
    unbound: nowMs => done('unbound', law.unbound(nowMs)),
    disturbed: nowMs => done('disturbed', law.disturbed(nowMs)),
  }
}

const ASYNC_METHOD =
  'it must act before it returns and keep its failures to itself. The law stays in place, for its limit makes sense.'

/** What a LimitLaw must have besides `limit` and `searching`. */
export const LAW_METHODS = ['admitted', 'completed', 'deserted', 'bound', 'tick', 'unbound', 'disturbed'] as const
