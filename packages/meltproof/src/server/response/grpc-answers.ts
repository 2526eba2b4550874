/**
 * The answers that are ours, for gRPC: a client does not look at the status of HTTP, but at `grpc-status`. It comes in the
 * head of an answer that has nothing else ("Trailers-Only" in gRPC over HTTP/2).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { isHttp2 } from '../request/is-http2.ts'

export const DEADLINE_EXCEEDED = '4'
/** The status that clients may retry, and that service configs name. */
const UNAVAILABLE = '14'
/** Not `application/grpc-web`, whose clients read HTTP. */
const GRPC = /^application\/grpc(?:[+;]|$)/i

export function isGrpc(request: IncomingMessage): boolean {
  return isHttp2(request) && GRPC.test(request.headers['content-type'] ?? '')
}

/** @param retryS when the client may try again: it does so by itself where its config has retries (gRPC A6), seconds */
export function grpcShed(response: ServerResponse, retryS: number, fields: OutgoingHttpHeaders = {}): void {
  answer(response, UNAVAILABLE, 'This server is overloaded and did not start the call.', {
    // So that clients do not come back as one wave.
    'grpc-retry-pushback-ms': String(Math.floor((retryS + Math.random()) * 1000)),
    ...fields,
  })
}

export function grpcLate(response: ServerResponse): void {
  answer(response, DEADLINE_EXCEEDED, 'The answer was not ready before the deadline of the call.', {})
}

/** Below whatever stands for the stream: Node's response has no way to send a head that ends the stream. */
function answer(response: ServerResponse, status: string, message: string, fields: OutgoingHttpHeaders): void {
  const { stream } = response as ServerResponse & { readonly stream?: ServerHttp2Stream }
  if (stream === undefined || stream.destroyed || stream.closed) return
  const head = { 'content-type': 'application/grpc', 'grpc-status': status, 'grpc-message': message, ...fields }
  stream.respond({ ':status': 200, ...head }, { endStream: true })
}
