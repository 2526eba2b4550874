/** Splits the targets of a plan into servers and the requests to each. */
import type { EngineJob } from './engine-job.ts'
import { OutgoingRequest } from './outgoing-request.ts'
import type { LoadPlan, LoadTarget, RequestHeaders } from './plan.ts'
import { type RequestText, requestText } from './request-text.ts'
import { parseTarget, type Target } from './target.ts'
import { tlsOptions } from './tls.ts'

export interface Prepared {
  readonly servers: readonly Target[]
  readonly requests: EngineJob['requests']
}

/** All targets of a plan in round robin order. */
export const targetsOf = (plan: LoadPlan): readonly LoadTarget[] => [plan, ...(plan.others ?? [])]

/** True if requests differ because a template field (template.ts) occurs. */
export const hasFields = (plan: LoadPlan): boolean =>
  plan.templated === true &&
  targetsOf(plan).some(({ url, headers, body }) =>
    [url, ...Object.values(headers).flat(), body].some(text => typeof text === 'string' && text.includes('{{')),
  )

/** Throws (RangeError, TypeError) for a request that cannot be sent. */
export const prepare = (plan: LoadPlan): Prepared => {
  const servers = new Map<string, { readonly index: number; readonly target: Target }>()
  const requests = targetsOf(plan).map((request, at) => {
    const names = plan.journey?.steps.slice(0, at).flatMap(({ extract }) => extract.map(({ name }) => name))
    const { target, text } = requestOf(request, plan.templated === true, plan.connections.kind === 'fresh', names)
    const key = `${target.secure} ${target.hostname} ${target.port}`
    const server = servers.get(key) ?? { index: servers.size, target }
    servers.set(key, server)
    return { text, peer: server.index }
  })
  const found = [...servers.values()].map(({ target }) => target)
  if (found.some(({ secure }) => secure)) tlsOptions(plan)
  if (plan.http2 !== undefined) for (const { headers } of targetsOf(plan)) refuseHttp1Only(headers)
  return { servers: found, requests }
}

/** Fields of an HTTP/1.1 connection, which HTTP/2 forbids (RFC 9113, 8.2.2). */
const HTTP1_ONLY = new Set(['keep-alive', 'proxy-connection', 'http2-settings', 'te'])

const refuseHttp1Only = (headers: RequestHeaders): void => {
  const found = Object.keys(headers).find(name => HTTP1_ONLY.has(name.toLowerCase()))
  if (found !== undefined) throw new RangeError(`header ${found} does not exist in HTTP/2`)
}

export const requestOf = (
  request: LoadTarget,
  templated: boolean,
  fresh = false,
  extracted: readonly string[] = [],
): { readonly target: Target; readonly text: RequestText } => {
  const target = parseTarget(request.url, templated)
  const text = { ...requestText(request, target, fresh), extracted }
  // Throws for unknown fields.
  if (templated) new OutgoingRequest(text, Math.random)
  return { target, text }
}
