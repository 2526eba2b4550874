/** Whether an answer is an event stream, which is meant to stay open. Pure. */
import { rawHeader } from '../raw-headers.ts'

/** Parsed, or raw, which costs less: Node parses only when asked. */
export type Headers = Readonly<Record<string, unknown>> | readonly unknown[]

export function isEventStream(headers: Headers): boolean {
  const type = Array.isArray(headers)
    ? rawHeader(headers, 'content-type')
    : (headers as Readonly<Record<string, unknown>>)['content-type']
  return String(type ?? '').startsWith('text/event-stream')
}
