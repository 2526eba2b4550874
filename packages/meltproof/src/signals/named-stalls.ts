/** The core and the metrics read here what culprit/ knows. While stalls are not named, requests pay nothing. */
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

/** The value of a request's async context. Timers and connections keep their context, so the core empties the value. */
export interface RunningRequest {
  request: object | undefined
}

interface StallNaming {
  figures: StallFigures | undefined
  /** Runs a handler, and makes its request known while it runs. Exceptions of the handler pass through. */
  requestContext: ((running: RunningRequest, handle: () => boolean) => boolean) | undefined
}

interface StallFigures {
  /** Seconds of stalls, by place. */
  readonly seconds: () => Readonly<Record<string, number>>
  /** The stalls that overlap this interval, including one that has not ended. */
  readonly between: (fromMs: number, toMs: number) => readonly NamedStall[]
  readonly explain: () => string
}

/** Both are undefined while stalls are not named. */
export const stallNaming: StallNaming = { figures: undefined, requestContext: undefined }
