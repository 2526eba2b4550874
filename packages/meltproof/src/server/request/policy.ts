/** What the operator says about single requests. None of these functions throws (operators-function.ts). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TurningAwayTime } from '../../admission/turning-away.ts'
import type { Clients } from './client-key.ts'

export interface RequestPolicy {
  /** See admission/criticality.ts; absent when all are alike. */
  readonly level?: ((request: IncomingMessage) => number) | undefined
  /** Absent where it does not matter who asks. */
  readonly clients?: Clients | undefined
  /** Requests that start whatever happens, known by their target alone. */
  readonly exemptUrl?: ((url: string) => boolean) | undefined
  /** The same, for what needs the request to be known. */
  readonly exemptRequest?: ((request: IncomingMessage) => boolean) | undefined
  /** The guard's own pages: true when it has answered. Asked about exempt requests only. */
  readonly answers?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  readonly tellsTiming?: ((request: IncomingMessage) => boolean) | undefined
  /** How long the loop has been busy, ever, ms. Where it is absent, stragglers keep their permits. */
  readonly loopBusyMs?: (() => number) | undefined
  readonly dryRun?: boolean
  /** True while the heap is nearly full: every request is shed. */
  readonly memoryShort?: (() => boolean) | undefined
  /** Absent: as it is measured. */
  readonly turningAway?: TurningAwayTime | undefined
}
