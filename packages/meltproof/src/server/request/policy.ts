/** The operator's decisions about single requests. None of these functions throws (operators-function.ts). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ShedBudgetLike } from '../../admission/shed-budget.ts'
import type { BodySource } from '../../signals/memory.ts'
import type { Clients } from './client-key.ts'
import type { FromPeer } from './peers.ts'

/** What signals/memory.ts knows about the heap and the container. */
export interface MemoryPolicy {
  /** Whether a request that arrives now must be shed. */
  refuses(bringsBody: boolean, nowMs: number): boolean
  /** Whether {@link refuses} could return true. */
  readonly mayRefuse: boolean
  /** Describes what is full, for a person; undefined when it is the heap. */
  fullOf(nowMs: number): string | undefined
  /** Called when a handler starts. */
  entered(bringsBody: boolean): void
  /** Called when the response of a request has closed. */
  left(broughtBody: boolean): void
  /** The sources of request bodies, which are read more slowly while memory is full. */
  readonly sources: Set<BodySource>
}

/** Absent functions are not called. */
export interface RequestPolicy {
  readonly level?: ((request: IncomingMessage) => number) | undefined
  readonly clients?: Clients | undefined
  /** The name of a request's kind; undefined when its path determines it. */
  readonly kindName?: ((request: IncomingMessage) => string | undefined) | undefined
  /** Whether a caller is trusted as one of our own tiers. */
  readonly trustsCaller?: FromPeer | undefined
  /** True when `x-meltproof-criticality` is the operator's `criticalityHeader` and all callers are trusted. */
  readonly anybodyNamesClass?: boolean
  readonly exemptUrl?: ((url: string) => boolean) | undefined
  readonly exemptRequest?: ((request: IncomingMessage) => boolean) | undefined
  /** Serves the guard's own pages, and returns true when it has answered. Called for exempt requests only. */
  readonly answers?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  /** Adds a load report to the answer of a request that starts. */
  readonly reportsLoad?: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  readonly sendsServerTiming?: ((request: IncomingMessage) => boolean) | undefined
  readonly dryRun?: boolean
  readonly memory?: MemoryPolicy | undefined
  readonly shedBudget?: ShedBudgetLike | undefined
}
