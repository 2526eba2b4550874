/** Calls an operator's function about a single request. An exception of the function cannot end the process. */
import type { IncomingMessage } from 'node:http'
import { caughtPromise, type Warn, warnOnce } from '../../warnings.ts'
import { show, showThrown } from '../../options.ts'

export interface OperatorsFunction<A> {
  readonly name: string
  readonly call: (request: IncomingMessage) => unknown
  /** Converts the function's result; undefined for an invalid one. */
  readonly read: (answer: unknown) => A | undefined
  /** For the warning: the valid results, and how a request without one is treated. */
  readonly expected: string
  readonly otherwise: string
  readonly warn: Warn
}

/** Calls the function. If it throws, or returns a promise or something invalid, warns once and returns undefined. */
export function safely<A>(asked: OperatorsFunction<A>): (request: IncomingMessage) => A | undefined {
  const say = warnOnce(asked.warn)
  const sayOnce = (what: string): void => say(`the ${asked.name} function ${what}; ${asked.otherwise}`)
  return request => {
    try {
      const answer: unknown = asked.call(request)
      if (answer === undefined) return undefined
      // Reading the result may throw as well.
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
