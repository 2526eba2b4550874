/** What the operator says about single requests. None of these functions throws (operators-function.ts). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TurningAwayTime } from '../../admission/turning-away.ts'
import type { BodySource } from '../../signals/memory.ts'
import type { Clients } from './client-key.ts'
import type { FromPeer } from './peers.ts'

/** What signals/memory.ts knows of the heap and of the container. */
export interface MemoryPolicy {
  /** Whether a request that came now is to be shed. */
  refuses(bringsBody: boolean, nowMs: number): boolean
  /** Whether {@link refuses} could say yes. */
  readonly mayRefuse: boolean
  /** What is full, for a person; undefined where that is the heap. */
  fullOf(nowMs: number): string | undefined
  /** A handler starts. */
  entered(bringsBody: boolean): void
  /** Its response is closed. */
  left(broughtBody: boolean): void
  /** Connections whose bodies are read more slowly while memory is full. */
  readonly sources: Set<BodySource>
}

/** What is absent is not asked. */
export interface RequestPolicy {
  readonly level?: ((request: IncomingMessage) => number) | undefined
  readonly clients?: Clients | undefined
  /** The name of a request's kind; undefined for one whose path tells. */
  readonly kindName?: ((request: IncomingMessage) => string | undefined) | undefined
  /** Who is believed to be a tier of ours. */
  readonly trustsCaller?: FromPeer | undefined
  /** `x-meltproof-criticality` is the operator's `criticalityHeader`, and all callers are believed. */
  readonly anybodyNamesClass?: boolean
  readonly exemptUrl?: ((url: string) => boolean) | undefined
  readonly exemptRequest?: ((request: IncomingMessage) => boolean) | undefined
  /** The guard's own pages: true when it has answered. Asked about exempt requests only. */
  readonly answers?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  /** Has the answer of a request that starts tell of the load. */
  readonly tellsLoad?: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  readonly tellsTiming?: ((request: IncomingMessage) => boolean) | undefined
  readonly dryRun?: boolean
  readonly memory?: MemoryPolicy | undefined
  readonly turningAway?: TurningAwayTime | undefined
}
