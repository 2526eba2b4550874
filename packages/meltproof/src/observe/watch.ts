/** Subscribes to what happens at one guard and in its process, for whoever turns it into metrics or spans. */
import { logLosses, passingRequests, type RequestMessage, stalls } from '../channels.ts'
import { guardOf } from '../guard-of.ts'
import type { LogLossRecord, StallRecord } from '../record.ts'
import { type CallWatcher, watchCalls } from '../timing/tracker.ts'

/** What of a Guard the observers read. */
export interface GuardLike {
  stats(): {
    readonly inflight: number
    readonly stragglers: number
    readonly abandoned: number
    readonly queued: number
    readonly limit: number
    readonly admitted: number
    readonly shed: Readonly<Record<string, number>>
    readonly pressure: number
    readonly lanes: number
  }
}

export interface Watcher {
  /** The record is another's afterwards. */
  request(message: RequestMessage): void
  call: CallWatcher
  stall(record: StallRecord): void
  logLoss(record: LogLossRecord): void
}

/** Calls, stalls and log lines are the process's; requests are those of `guard` alone. */
export function watch(guard: GuardLike, watcher: Watcher): () => void {
  const onRequest = (message: RequestMessage): void => {
    if (guardOf(message.server) === guard) watcher.request(message)
  }
  const onStall = (record: StallRecord): void => watcher.stall(record)
  const onLogLoss = (record: LogLossRecord): void => watcher.logLoss(record)
  passingRequests.subscribe(onRequest)
  stalls.subscribe(onStall)
  logLosses.subscribe(onLogLoss)
  const unwatchCalls = watchCalls(watcher.call)
  return () => {
    passingRequests.unsubscribe(onRequest)
    stalls.unsubscribe(onStall)
    logLosses.unsubscribe(onLogLoss)
    unwatchCalls()
  }
}
