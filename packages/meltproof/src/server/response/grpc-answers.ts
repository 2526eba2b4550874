/**
 * meltproof's answers for gRPC, whose clients read `grpc-status` instead of the HTTP status. This field is in the head
 * of an answer without a body ("Trailers-Only" in gRPC over HTTP/2).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OutgoingHttpHeaders } from 'node:http2'
import { isHttp2, streamOf } from '../request/is-http2.ts'

export const DEADLINE_EXCEEDED = '4'
/** The status that clients may retry, and that service configs name for retries. */
const UNAVAILABLE = '14'
/** Does not match `application/grpc-web`, whose clients read the HTTP status. */
const GRPC = /^application\/grpc(?:[+;]|$)/i

export function isGrpc(request: IncomingMessage): boolean {
  return isHttp2(request) && GRPC.test(request.headers['content-type'] ?? '')
}

/**
 * @param retryS seconds until the client may retry, if its service config allows retries at all (gRPC A6)
 * @param begun whether the handler has got messages; then the client must not retry
 */
export function grpcShed(
  response: ServerResponse,
  retryS: number,
  begun: boolean,
  fields: OutgoingHttpHeaders = {},
): void {
  const what = begun ? 'no longer works on the call, which may have been carried out' : 'did not start the call'
  // The random part prevents all clients from returning at the same time.
  const pushbackMs = begun ? -1 : Math.floor((retryS + Math.random()) * 1000)
  answer(response, UNAVAILABLE, `This server is overloaded and ${what}.`, {
    'grpc-retry-pushback-ms': String(pushbackMs),
    ...fields,
  })
}

export function grpcLate(response: ServerResponse): void {
  answer(response, DEADLINE_EXCEEDED, 'The answer was not ready before the deadline of the call.', {})
}

/** Uses the stream below the response: Node's response cannot send a head that ends the stream. */
function answer(response: ServerResponse, status: string, message: string, fields: OutgoingHttpHeaders): void {
  const stream = streamOf(response)
  if (stream === undefined || stream.destroyed || stream.closed) return
  const head = { 'content-type': 'application/grpc', 'grpc-status': status, 'grpc-message': message, ...fields }
  stream.respond({ ':status': 200, ...head }, { endStream: true })
}
