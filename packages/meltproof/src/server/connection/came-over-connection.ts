/** Apps emit requests at their servers themselves (serverless adapters, mocks): any objects, and nobody's load. */
import { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpSocket } from './http-socket.ts'

/** True when the two belong to one connection, which then tells when they are over. */
export function cameOverConnection(request: unknown, response: unknown): boolean {
  try {
    if (request instanceof IncomingMessage && response instanceof ServerResponse) return shareSocket(request, response)
    const { stream } = request as { readonly stream?: object }
    return stream !== undefined && stream === (response as { readonly stream?: object }).stream && 'session' in stream
  } catch {
    return false // null, a number, or a getter that throws
  }
}

function shareSocket({ socket }: { socket: HttpSocket | null }, response: ServerResponse): boolean {
  if (typeof socket?.on !== 'function') return false
  // Pipelined: another answer is being written, and its own has no socket yet.
  return response.socket === socket || (response.socket === null && socket._httpMessage != null)
}
