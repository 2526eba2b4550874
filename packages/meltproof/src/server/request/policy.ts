/** The operator's decisions about single requests. None of these functions throws (operators-function.ts). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ShedBudgetLike } from '../../admission/shed-budget.ts'
import type { Memory } from '../../signals/memory.ts'
import type { Clients } from './client-key.ts'
import type { FromPeer } from './peers.ts'

/** The part of signals/memory.ts that the server uses. */
export type MemoryPolicy = Pick<Memory, 'refuses' | 'mayRefuse' | 'fullOf' | 'entered' | 'left' | 'sources'>

export interface RequestPolicy {
  readonly level?: ((request: IncomingMessage) => number) | undefined
  readonly clients?: Clients | undefined
  /** Returns the name of a request's kind, or undefined if the path determines the kind. */
  readonly kindName?: ((request: IncomingMessage) => string | undefined) | undefined
  readonly trustsCaller?: FromPeer | undefined
  /** True if `x-meltproof-criticality` is the operator's `criticalityHeader` and counts from every caller. */
  readonly anybodyNamesClass?: boolean
  readonly exemptUrl?: ((url: string) => boolean) | undefined
  readonly exemptRequest?: ((request: IncomingMessage) => boolean | undefined) | undefined
  /** Serves the guard's own pages, and returns true when it has answered. Called for requests without a permit. */
  readonly answers?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  readonly reportsLoad?: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  readonly sendsServerTiming?: ((request: IncomingMessage) => boolean) | undefined
  readonly dryRun?: boolean
  readonly memory?: MemoryPolicy | undefined
  readonly shedBudget?: ShedBudgetLike | undefined
}
