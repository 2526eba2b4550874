/**
 * How much a request matters, from what the operator gave: a function, a header that the operator trusts, or neither.
 * A function that throws or answers nonsense costs its request nothing but its class, and is reported once.
 */
import type { IncomingMessage } from 'node:http'
import {
  type CriticalityAnswer,
  CRITICALITIES,
  isCriticality,
  levelOf,
  readCriticality,
} from '../../admission/queue/criticality.ts'
import { caughtPromise } from '../promise-like.ts'
import { hourNow } from '../../clock.ts'
import { show, showThrown } from '../../options.ts'

export type CriticalityOf = (request: IncomingMessage) => CriticalityAnswer | undefined

export interface CriticalitySources {
  readonly criticality?: CriticalityOf | undefined
  /** Header field in lower case whose value is a class. Clients can forge it: only behind a proxy that sets it. */
  readonly header?: string | undefined
  readonly note: (text: string) => void
}

/** Undefined when all requests are alike. */
export function criticalityLevels(sources: CriticalitySources): ((request: IncomingMessage) => number) | undefined {
  const { criticality, header, note } = sources
  if (criticality === undefined && header === undefined) return undefined
  let said = false
  const sayOnce = (what: string): void => {
    if (said) return
    said = true
    note(`the criticality function ${what}; such requests count as 'critical'`)
  }
  return request => {
    if (criticality !== undefined) {
      try {
        // What it answers is the operator's too: reading it may throw as the function may.
        const answer: unknown = criticality(request)
        if (answer !== undefined) {
          const level = readCriticality(answer, hourNow())
          if (level !== undefined) return level
          caughtPromise(answer)
          sayOnce(`answered ${show(answer)}, not one of ${CRITICALITIES.join(', ')}`)
        }
      } catch (error) {
        sayOnce(`threw ${showThrown(error)}`)
      }
    }
    const named = header === undefined ? undefined : request.headers[header]
    return levelOf(isCriticality(named) ? named : undefined)
  }
}
