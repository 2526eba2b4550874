/** The trace that a request belongs to, as its caller says (W3C Trace Context, `traceparent`). Pure. */

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** Undefined when the header is absent or not right. */
export function traceIdOf(traceparent: string | string[] | undefined): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined
}
