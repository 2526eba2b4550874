/** The core and the metrics read culprit/'s findings here. While stalls are not named, requests pay nothing. */
import type { CulpritRecord } from '../record.ts'

/** A stall for which culprit/ has found what blocked the loop. */
export interface NamedStall extends Omit<CulpritRecord, 'file' | 'line' | 'functionName' | 'cause'> {
  readonly request: WeakRef<object> | undefined
}

/** The value of a request's async context. Timers and sockets keep it, so the core empties it when the handler ends. */
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

export const stallNaming: StallNaming = { figures: undefined, requestContext: undefined }
