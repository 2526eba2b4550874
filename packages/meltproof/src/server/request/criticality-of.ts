/** The criticality of a request, from the operator's function, from a trusted header field, or from neither. */
import type { IncomingMessage } from 'node:http'
import {
  type CriticalityAnswer,
  CRITICALITIES,
  isCriticality,
  levelOf,
  readCriticality,
} from '../../admission/queue/criticality.ts'
import { hourNow } from '../../clock.ts'
import type { Warn } from '../../warnings.ts'
import { safely } from './operators-function.ts'
import type { FromPeer } from './peers.ts'

export type CriticalityOf = (request: IncomingMessage) => CriticalityAnswer | undefined

/**
 * Returns a function that gives the level of a request; undefined when all requests are equal.
 * @param trusts returns true for callers whose header field counts; if absent, the field counts from every caller
 */
export function criticalityLevels(
  criticality: CriticalityOf | undefined,
  header: string | undefined,
  warn: Warn,
  trusts?: FromPeer,
): ((request: IncomingMessage) => number) | undefined {
  if (criticality === undefined && header === undefined) return undefined
  const ofFunction =
    criticality &&
    safely({
      name: 'criticality',
      call: criticality,
      read: answer => readCriticality(answer, hourNow()),
      expected: `one of ${CRITICALITIES.join(', ')}`,
      otherwise: "such requests count as 'critical'",
      warn,
    })
  return request => {
    const level = ofFunction?.(request)
    if (level !== undefined) return level
    const named = header === undefined || trusts?.(request) === false ? undefined : request.headers[header]
    return levelOf(isCriticality(named) ? named : undefined)
  }
}
