/** Reads criticality and the mark of a retry, if the caller is trusted, and forbids retries in the answer. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { OutgoingHttpHeaders } from 'node:http2'
import { CRITICALITIES, classOf, isCriticality } from '../../admission/queue/criticality.ts'
import { Chain, CRITICALITY_FIELD, NO_RETRY_FIELD, tiersAreInformed } from '../../chain.ts'
import type { HeaderFields } from '../../deadline/headers.ts'
import { streamOf } from '../request/is-http2.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { addToHead, beforeHead } from '../response/before-head.ts'

/** Returns undefined if the server trusts no caller and outbound calls pass nothing on. */
export function chainOf(request: IncomingMessage, response: ServerResponse, policy: RequestPolicy): Chain | undefined {
  const { anybodyNamesClass, level, trustsCaller } = policy
  if (trustsCaller === undefined && !tiersAreInformed()) return undefined
  const { headers } = request
  const trusted = trustsCaller?.(request) === true
  // An app that forwards all received fields would otherwise send an untrusted value to tiers that trust the app.
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
    // The client has left, but the handler may continue to use the chain.
    else chain.release()
  })
  return chain
}

/** Removes a field, also from the raw fields: frameworks that create their own Request object read these. */
function removeField(request: IncomingMessage, name: string): void {
  const { headers, rawHeaders } = request
  if (headers[name] === undefined) return
  delete headers[name]
  // The getter caches its object, so the field is deleted there, too. HTTP/2 requests have no such getter.
  const { headersDistinct } = request as { headersDistinct?: NodeJS.Dict<string[]> }
  if (headersDistinct !== undefined) delete headersDistinct[name]
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]!.toLowerCase() === name) rawHeaders.splice(at, 2)
  }
}

/** Recognises a retry by the mark of meltproof, of Envoy (which retries for its clients), or of gRPC. */
export function isRetry(headers: IncomingHttpHeaders): boolean {
  // In HTTP/2 a field that was sent more than once is an array.
  const baggage = (headers as HeaderFields)['baggage']?.toString()
  const members = baggage?.slice(0, MOST_BAGGAGE).split(',')
  if (members?.some(member => MARK.test(member))) return true
  return countOf(headers['x-envoy-attempt-count']) > 1 || countOf(headers['grpc-previous-rpc-attempts']) > 0
}

/** Number of characters that every tier must pass on (W3C Baggage, limits). meltproof writes its entry first. */
const MOST_BAGGAGE = 8192

const MARK = /^[ \t]*meltproof\.retry[ \t]*=[ \t]*1[ \t]*(?:;|$)/

function countOf(value: unknown): number {
  return typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : 0
}

/** If the status of the coming answer is 500 or more, adds a field to it that forbids retries. */
function refuseRetry(response: ServerResponse): void {
  const stream = streamOf(response)
  if (stream === undefined) {
    beforeHead(response, head => (Number(head[0]) >= 500 ? addToHead(response, head, NO_RETRY_FIELD, 'true') : head))
    return
  }
  const { respond } = stream
  stream.respond = (fields, options) => {
    const { ':status': status } = (fields ?? {}) as OutgoingHttpHeaders
    return respond.call(stream, Number(status) >= 500 ? { ...fields, [NO_RETRY_FIELD]: 'true' } : fields, options)
  }
}
