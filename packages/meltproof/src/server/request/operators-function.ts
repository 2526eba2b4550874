/** A function of the operator's, called about single requests. Whatever it does, it does not end the process. */
import type { IncomingMessage } from 'node:http'
import { caughtPromise, type Warn } from '../../warnings.ts'
import { show, showThrown } from '../../options.ts'

export interface OperatorsFunction<A> {
  readonly name: string
  readonly call: (request: IncomingMessage) => unknown
  /** What its answer says; undefined for one that makes no sense. */
  readonly read: (answer: unknown) => A | undefined
  /** What it should answer, and what becomes of a request about which it does not. */
  readonly expected: string
  readonly otherwise: string
}

/** Calls the function. When it throws, answers nonsense or a promise, that is said once and is no answer. */
export function safely<A>(asked: OperatorsFunction<A>, warn: Warn): (request: IncomingMessage) => A | undefined {
  let said = false
  const sayOnce = (what: string): void => {
    if (!said) warn(`the ${asked.name} function ${what}; ${asked.otherwise}`)
    said = true
  }
  return request => {
    try {
      const answer: unknown = asked.call(request)
      if (answer === undefined) return undefined
      // To read the answer may throw as well.
      const read = asked.read(answer)
      if (read !== undefined) return read
      const what = caughtPromise(answer) ? 'a promise' : show(answer)
      sayOnce(`returned ${what}, not ${asked.expected}`)
    } catch (error) {
      sayOnce(`threw ${showThrown(error)}`)
    }
    return undefined
  }
}
