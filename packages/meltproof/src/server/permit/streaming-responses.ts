/** Which requests in service merely flow at the pace of their client, and say nothing about our capacity any more. */
import type { ServerResponse } from 'node:http'
import type { Exchange } from '../request/exchange.ts'

/** An answer and an upload flow when they have been under way for so long, ms; events from their head on. */
const FLOW_AFTER_MS = 50
const UPLOAD_AFTER_MS = 20

/**
 * A response that has begun (a stream, a download, an event source), or a request whose handler waits for more of its
 * body: a body that nobody reads, or that the handler reads slowly, is not the client's doing.
 */
export function flows({ request, response, shadow, abandoned }: Exchange, forMs: number): boolean {
  // The shadow of one that is over has no stream; and when the client has gone, what goes on is the handler.
  if (abandoned || (shadow !== undefined && shadow.tookMs >= 0)) return false
  if (response?.headersSent === true) return forMs >= FLOW_AFTER_MS || sendsEvents(response)
  return forMs >= UPLOAD_AFTER_MS && waitsForBody(request)
}

export function waitsForBody(request: Exchange['request'] & { _readableState?: { ended?: boolean } }): boolean {
  if (request.complete || request.readableFlowing === null || request.readableLength > 0) return false
  // HTTP/2 says complete only when all was read.
  return request._readableState?.ended !== true
}

/** Head as Node keeps it; what writeHead() was given is nowhere else. HTTP/2 keeps it as any header. */
export function sendsEvents(response: ServerResponse & { _header?: string | null }): boolean {
  const { _header: head } = response
  if (typeof head === 'string') return head.includes('text/event-stream')
  return String(response.getHeader('content-type')).startsWith('text/event-stream')
}
