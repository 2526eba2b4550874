/**
 * The seam between the parts that do the work and those that watch it: `node:diagnostics_channel`. Whoever publishes
 * asks `hasSubscribers` first and builds nothing when it is false. docs/records.md is the public description.
 */
import { channel } from 'node:diagnostics_channel'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { CulpritRecord, LogLossRecord, OutboundRecord, RequestRecord, ShedRecord, StallRecord } from './record.ts'

export interface Seam<T> {
  readonly name: string | symbol
  readonly hasSubscribers: boolean
  publish(message: T): void
  subscribe(listener: (message: T) => void): void
  unsubscribe(listener: (message: T) => void): unknown
}

export interface RequestMessage {
  readonly record: RequestRecord
  /** What protect() returned for the server; the server's own is another, or none, after `guard.close()`. */
  readonly guard: object
  readonly server: Server
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export interface ShedMessage {
  readonly record: ShedRecord
  readonly guard: object
  readonly server: Server
  /** Undefined when the record stands for several. */
  readonly request: IncomingMessage | undefined
}

/** One a request that got past the gate, when it is over. */
export const requests: Seam<RequestMessage> = seam('meltproof:request')
/**
 * The same for our own figures: the next request is written into the record, and the bytes of the answer are not
 * counted.
 */
export const passingRequests: Seam<RequestMessage> = seam('meltproof:passing-request')
/** Requests whose handler never ran: the first few of a second one by one, the others together at its end. */
export const sheds: Seam<ShedMessage> = seam('meltproof:shed')
export const calls: Seam<OutboundRecord> = seam('meltproof:outbound')
export const stalls: Seam<StallRecord> = seam('meltproof:stall')
/** Once a stall of 100 ms and more, while stalls are named (meltproof/culprit). */
export const culprits: Seam<CulpritRecord> = seam('meltproof:culprit')
/** At most one a second and stream while log lines are being given up. */
export const logLosses: Seam<LogLossRecord> = seam('meltproof:log-loss')

export function requestsAreObserved(): boolean {
  return passingRequests.hasSubscribers || requests.hasSubscribers
}

function seam<T>(name: string): Seam<T> {
  return channel(name) as Seam<T>
}
