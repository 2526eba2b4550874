/** culprit/ registers here what the core and the metrics read. Without culprit/, requests cost nothing more. */
import type { StallRecord } from '../record.ts'

/** A stall for which culprit/ has found what blocked the loop. */
export interface NamedStall extends StallRecord {
  /** Such as `renderInvoice, src/invoice.js:88`, or `unknown`. */
  readonly place: string
  /** Such as `GET /invoices`; undefined when no request was running, or when it is unknown. */
  readonly route: string | undefined
  /** The request that was running. */
  readonly request: object | undefined
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

/** Runs a handler so that its request is known meanwhile. Exceptions of the handler pass through. */
export type RequestContext = (request: object, handle: () => boolean) => boolean

let context: RequestContext | undefined

/** Undefined removes the registration. */
export function setRequestContext(registered: RequestContext | undefined): void {
  context = registered
}

export function requestContext(): RequestContext | undefined {
  return context
}
