/** The trace of a request, from its caller's header (W3C Trace Context, `traceparent`). Pure. */

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]([\da-f])(?:-|$)/

interface Trace {
  readonly id: string
  /** True if the caller may have recorded the trace. */
  readonly sampled: boolean
}

/** Undefined when the header is absent or invalid. */
export function traceOf(traceparent: string | string[] | undefined): Trace | undefined {
  const [, id, flags] = (typeof traceparent === 'string' && TRACEPARENT.exec(traceparent)) || []
  return id === undefined ? undefined : { id, sampled: Number.parseInt(flags!, 16) % 2 === 1 }
}
