/** What a request brings along from the tiers above. Callers whom the operator does not trust bring nothing. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { CRITICALITIES, classOf, isCriticality } from '../../admission/queue/criticality.ts'
import { Chain, CRITICALITY_FIELD, tiersAreTold } from '../../chain.ts'
import type { HeaderFields } from '../../deadline/headers.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { refuseRetry } from '../response/refuse-retry.ts'

/** Undefined where nobody is believed, and nobody told. */
export function chainOf(request: IncomingMessage, response: ServerResponse, policy: RequestPolicy): Chain | undefined {
  const { anybodyNamesClass, level, trustsCaller } = policy
  if (trustsCaller === undefined && !tiersAreTold()) return undefined
  const { headers } = request
  const trusted = trustsCaller?.(request) === true
  // An app that passes on all it was sent would vouch for it.
  if (!trusted && anybodyNamesClass !== true) removeField(request, CRITICALITY_FIELD)
  const chain = new Chain({
    retried: trusted && isRetry(headers),
    criticality: () => {
      if (level !== undefined) return CRITICALITIES[classOf(level(request))]
      const told = trusted ? headers[CRITICALITY_FIELD] : undefined
      return isCriticality(told) ? told : undefined
    },
    onSpent: () => refuseRetry(response),
  })
  response.on('close', () => {
    if (response.writableFinished) chain.end()
    // Its client has left: the handler may go on with it.
    else chain.release()
  })
  return chain
}

/** Frameworks that make a Request of their own read the raw fields. */
function removeField(request: IncomingMessage, name: string): void {
  const { headers, rawHeaders } = request
  if (headers[name] === undefined) return
  delete headers[name]
  // Made now: Node would later look for as many fields as came. HTTP/2 has none.
  const { headersDistinct } = request as { headersDistinct?: NodeJS.Dict<string[]> }
  if (headersDistinct !== undefined) delete headersDistinct[name]
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]!.toLowerCase() === name) rawHeaders.splice(at, 2)
  }
}

/** By our own mark, that of Envoy, which tries again for somebody, or that of gRPC. */
export function isRetry(headers: IncomingHttpHeaders): boolean {
  // HTTP/2 has a list of one that was sent more than once.
  const baggage = (headers as HeaderFields)['baggage']?.toString()
  if (baggage?.slice(0, MOST_BAGGAGE).split(',').some(isMark)) return true
  return countOf(headers['x-envoy-attempt-count']) > 1 || countOf(headers['grpc-previous-rpc-attempts']) > 0
}

/** As much as every tier passes on (W3C Baggage, limits). Ours comes first. */
const MOST_BAGGAGE = 8192

function isMark(member: string): boolean {
  return /^[ \t]*meltproof\.retry[ \t]*=[ \t]*1[ \t]*(?:;|$)/.test(member)
}

function countOf(value: unknown): number {
  return typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : 0
}
