/** Recognises answers with which an overloaded server refuses the work. Pure. */
import { type Headers, headerOf } from './headers.ts'

/** gRPC's RESOURCE_EXHAUSTED and UNAVAILABLE. */
const REFUSING_GRPC = new Set(['8', '14'])

export function isRefusal(status: number | undefined, headers: Headers): boolean {
  if (status === 503 || status === 429) return true
  // On other 5xx answers the field is no refusal: it says that the one retry of the request was used (docs/tiers.md).
  if (headerOf(headers, 'x-envoy-ratelimited') !== undefined && !(Number(status) >= 500)) return true
  return isGrpcRefusal(headers)
}

/** gRPC sends its status in trailers, or in the head of an answer without a body. */
export function isGrpcRefusal(fields: Headers): boolean {
  return REFUSING_GRPC.has(headerOf(fields, 'grpc-status')?.trim() ?? '')
}
