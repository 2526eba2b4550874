/** The trace of a request, from its caller's header (W3C Trace Context, `traceparent`). Pure. */

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]([\da-f])(?:-|$)/

/** Undefined when the header is absent or invalid. `sampled`: the caller may have recorded the trace. */
export function traceOf(traceparent: string | string[] | undefined): { id: string; sampled: boolean } | undefined {
  const [, id, flags] = (typeof traceparent === 'string' && TRACEPARENT.exec(traceparent)) || []
  return id === undefined ? undefined : { id, sampled: Number.parseInt(flags!, 16) % 2 === 1 }
}
