/**
 * culprit/ registers its stalls and its request context here, for the core and the metrics. Otherwise requests pay
 * nothing.
 */
import type { StallRecord } from '../record.ts'

/** A stall for which culprit/ has found what blocked the loop. */
export interface NamedStall extends StallRecord {
  /** The code that blocked the loop, such as `renderInvoice, src/invoice.js:88`, or `unknown`. */
  readonly place: string
  /** Such as `GET /invoices`; undefined when no request was running, or its route is unknown. */
  readonly route: string | undefined
  /** The ids under which the caller of that request knows it. */
  readonly traceId: string | undefined
  readonly requestId: string | undefined
  readonly request: WeakRef<object> | undefined
}

export interface StallFigures {
  /** Seconds of stalls, by place. */
  readonly seconds: () => Readonly<Record<string, number>>
  /** The stalls that overlap this interval, including one that has not ended. */
  readonly between: (fromMs: number, toMs: number) => readonly NamedStall[]
  readonly explain: () => string
}

let stalls: StallFigures | undefined

/** Undefined removes the registration. */
export function nameStalls(figures: StallFigures | undefined): void {
  stalls = figures
}

export function namedStalls(): StallFigures | undefined {
  return stalls
}

/** The value of a request's async context. Timers and connections keep their context, so the core empties the value. */
export interface RunningRequest {
  request: object | undefined
}

/** Runs a handler, and makes its request known while it runs. Exceptions of the handler pass through. */
export type RequestContext = (running: RunningRequest, handle: () => boolean) => boolean

let context: RequestContext | undefined

/** Undefined removes the registration. */
export function setRequestContext(registered: RequestContext | undefined): void {
  context = registered
}

export function requestContext(): RequestContext | undefined {
  return context
}
