/**
 * culprit/ registers its stalls and its request context here, for the core and the metrics. Otherwise requests pay
 * nothing.
 */
import type { StallRecord } from '../record.ts'

/** A stall for which culprit/ has found what blocked the loop. */
export interface NamedStall extends StallRecord {
  /** What blocked the loop, such as `renderInvoice, src/invoice.js:88`, or `unknown`. */
  readonly place: string
  /** Such as `GET /invoices`; undefined when no request was running, or its route is unknown. */
  readonly route: string | undefined
  /** As the caller of that request named it. */
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

/** Runs a handler, and makes its request known while it runs. Exceptions of the handler pass through. */
export type RequestContext = (request: object, handle: () => boolean) => boolean

let context: RequestContext | undefined

/** Undefined removes the registration. */
export function setRequestContext(registered: RequestContext | undefined): void {
  context = registered
}

export function requestContext(): RequestContext | undefined {
  return context
}
