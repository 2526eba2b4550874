/**
 * The `node:diagnostics_channel` channels on which meltproof publishes its records. A publisher checks `hasSubscribers`
 * first and builds nothing when it is false. docs/records.md describes the channels for users.
 */
import { channel } from 'node:diagnostics_channel'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { CulpritRecord, LogLossRecord, OutboundRecord, RequestRecord, ShedRecord, StallRecord } from './record.ts'

export interface Channel<T> {
  readonly name: string | symbol
  readonly hasSubscribers: boolean
  publish(message: T): void
  subscribe(listener: (message: T) => void): void
  unsubscribe(listener: (message: T) => void): unknown
}

export interface RequestMessage {
  readonly record: RequestRecord
  /** The guard that protect() returned. If it has been closed since, the server has another guard or none. */
  readonly guard: object
  readonly server: Server
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export interface ShedMessage {
  readonly record: ShedRecord
  readonly guard: object
  readonly server: Server
  /** Undefined when the record stands for several requests. */
  readonly request: IncomingMessage | undefined
}

/** One message for each request that passed the gate, at its end. */
export const requests: Channel<RequestMessage> = channelOf('meltproof:request')
/** The same for meltproof's own metrics. The next request may reuse the record object, and `bytes` may be missing. */
export const passingRequests: Channel<RequestMessage> = channelOf('meltproof:passing-request')
/** Requests whose handler never ran: the first 20 of a second one by one, the others combined once a second. */
export const sheds: Channel<ShedMessage> = channelOf('meltproof:shed')
export const calls: Channel<OutboundRecord> = channelOf('meltproof:outbound')
export const stalls: Channel<StallRecord> = channelOf('meltproof:stall')
/** Published after stalls of at least `thresholdMs`, by default 100 ms, while stalls are named (meltproof/culprit). */
export const culprits: Channel<CulpritRecord> = channelOf('meltproof:culprit')
/** At most one message per second and stream while log lines are dropped. */
export const logLosses: Channel<LogLossRecord> = channelOf('meltproof:log-loss')

export function requestsAreObserved(): boolean {
  return passingRequests.hasSubscribers || requests.hasSubscribers
}

function channelOf<T>(name: string): Channel<T> {
  return channel(name) as Channel<T>
}
