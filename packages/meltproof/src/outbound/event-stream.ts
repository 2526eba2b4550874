/** Whether a response is an event stream, which is meant to stay open. Pure. */

export const EVENT_STREAM = 'text/event-stream'
export const CONTENT_TYPE = 'content-type'

/**
 * Of raw headers: name, value, name, value; Buffers from undici, strings from node:http. Not of parsed ones: Node parses
 * them when they are first asked for, and most callers never ask.
 */
export function isRawEventStream(headers: readonly unknown[]): boolean {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as { readonly length: number }
    if (name.length === CONTENT_TYPE.length && String(name).toLowerCase() === CONTENT_TYPE) {
      return String(headers[i + 1]).startsWith(EVENT_STREAM)
    }
  }
  return false
}
