/**
 * What the operator says about single requests, as the door asks it. Every function here keeps to itself what the
 * operator's own code throws.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TurningAwayTime } from '../../admission/turning-away.ts'
import type { Clients } from './client-key.ts'

export interface RequestPolicy {
  /** The level of a request (admission/criticality.ts); absent when all are alike. */
  readonly level?: ((request: IncomingMessage) => number) | undefined
  /** Tells clients apart, of whom each gets no more than a fair share; absent where it does not matter who asks. */
  readonly clients?: Clients | undefined
  /** Requests that start whatever happens, known by their target alone. */
  readonly exemptUrl?: ((url: string) => boolean) | undefined
  /** The same, for what needs the request to be known. */
  readonly exemptRequest?: ((request: IncomingMessage) => boolean) | undefined
  /** The guard's own pages: true when it has answered. Asked about exempt requests only. */
  readonly answers?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  /**
   * For how long the loop has been busy, ever, ms. Given where the limit is learned: then those who outstay go on without
   * a permit (admission/stragglers.ts). An operator's own limit means everybody.
   */
  readonly loopBusyMs?: (() => number) | undefined
  /** Decide and count, but start everybody. */
  readonly dryRun?: boolean
  /** True while the heap is nearly full: who comes is shed. */
  readonly memoryShort?: (() => boolean) | undefined
  /** Who keeps account of the time that turning away takes; absent: as it is measured. */
  readonly turningAway?: TurningAwayTime | undefined
}
