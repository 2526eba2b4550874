/** Whether an answer is an event stream, which is meant to stay open. Pure. */

const CONTENT_TYPE = 'content-type'

/** Of parsed headers, or of raw ones (name, value, name, value), which cost less: Node parses only when asked. */
export function isEventStream(headers: Readonly<Record<string, unknown>> | readonly unknown[]): boolean {
  return String(contentType(headers) ?? '').startsWith('text/event-stream')
}

function contentType(headers: Readonly<Record<string, unknown>> | readonly unknown[]): unknown {
  if (!Array.isArray(headers)) return (headers as Readonly<Record<string, unknown>>)[CONTENT_TYPE]
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as { readonly length: number }
    if (name.length === CONTENT_TYPE.length && String(name).toLowerCase() === CONTENT_TYPE) return headers[i + 1]
  }
  return undefined
}
