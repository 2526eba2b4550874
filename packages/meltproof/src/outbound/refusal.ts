/** Whether an answer says that its server did not do the work because it had too much of it. Pure. */
import { type Headers, headerOf } from './headers.ts'

/** gRPC's RESOURCE_EXHAUSTED and UNAVAILABLE. */
const REFUSING_GRPC = new Set(['8', '14'])

export function isRefusal(status: number | undefined, headers: Headers): boolean {
  if (status === 503 || status === 429) return true
  // On other 5xx the field says that the one retry of a request was spent (docs/tiers.md), which is no refusal.
  if (headerOf(headers, 'x-envoy-ratelimited') !== undefined && !(Number(status) >= 500)) return true
  return isGrpcRefusal(headers)
}

/** In trailers, or in the head of an answer that has nothing else. */
export function isGrpcRefusal(fields: Headers): boolean {
  return REFUSING_GRPC.has(headerOf(fields, 'grpc-status')?.trim() ?? '')
}
