/** Recognises requests of real connections. Requests that apps emit themselves may be any objects, and are not load. */
import { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpSocket } from './http-socket.ts'

/** True when request and response belong to one connection, whose events then show their end. */
export function cameOverConnection(request: unknown, response: unknown): boolean {
  try {
    if (request instanceof IncomingMessage && response instanceof ServerResponse) return shareSocket(request, response)
    const { stream } = request as { readonly stream?: object }
    return stream !== undefined && stream === (response as { readonly stream?: object }).stream && 'session' in stream
  } catch {
    return false // An argument is null, its stream is no object, or a getter throws.
  }
}

function shareSocket({ socket }: { socket: HttpSocket | null }, response: ServerResponse): boolean {
  if (typeof socket?.on !== 'function') return false
  // A pipelined response has no socket while the response before it is being written.
  return response.socket === socket || (response.socket === null && socket._httpMessage != null)
}
