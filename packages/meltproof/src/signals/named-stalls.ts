/**
 * Where culprit/ registers what the core and the metrics read of it, and how it follows requests. Without it a request costs
 * nothing more.
 */

/** A stall of which culprit/ says what held the loop. */
export interface NamedStall {
  readonly fromMs: number
  readonly toMs: number
  /** Such as `renderInvoice, src/invoice.js:88`, or `unknown`. */
  readonly place: string
  /** Such as `GET /invoices`; undefined when no request ran, or when it is not known which one did. */
  readonly route: string | undefined
  /** That request. */
  readonly request: object | undefined
}

export interface StallFigures {
  /** By place. */
  readonly seconds: () => Readonly<Record<string, number>>
  /** The stalls that overlap this time, including one that has not ended. */
  readonly between: (fromMs: number, toMs: number) => readonly NamedStall[]
  readonly explain: () => string
}

let stalls: StallFigures | undefined

/** Undefined takes them away. */
export function nameStalls(figures: StallFigures | undefined): void {
  stalls = figures
}

export function namedStalls(): StallFigures | undefined {
  return stalls
}

/** Runs a handler so that its request is known while it runs. Its exceptions pass. */
export type RequestContext = (request: object, handle: () => boolean) => boolean

let context: RequestContext | undefined

/** Undefined takes it away. */
export function setRequestContext(registered: RequestContext | undefined): void {
  context = registered
}

export function requestContext(): RequestContext | undefined {
  return context
}
