/** Splits the time of recorded requests and calls into parts, using the stalls that signals/loop-stalls.ts records. */
import { performance } from 'node:perf_hooks'
import { calls, passingRequests, requests, stalls } from '../channels.ts'
import { observeHttpCalls } from '../outbound/observe.ts'
import type { OutboundRecord } from '../record.ts'
import { holdCounted, isBeating, releaseCounted, stalledBetween, stallsBetween } from '../signals/loop-stalls.ts'
import { AFTERMATH_MS } from '../signals/stall-ledger.ts'
import { type CallTimeline, callTimeline, stallBefore } from './call-timeline.ts'
import { type Intervals, lengthMs, NEVER, within } from './intervals.ts'
import { RequestTimeline, RequestTimes } from './request-timeline.ts'
import { claimedMs } from './server-timing.ts'
import { UsualTimes } from './usual.ts'

export type CallWatcher = (record: OutboundRecord, timeline: CallTimeline) => void

/** How far back to look for stalls that run into one another, ms. */
const LOOK_BACK_MS = 2000

/** Minimum interval, ms, between calls that teach usual durations: calls that end together teach the same. */
const LEARN_EVERY_MS = 1

const usual = new UsualTimes()
let learnedAtMs = Number.NEGATIVE_INFINITY
const watchers = new Set<CallWatcher>()
let pending = 0
let unlisten: (() => void) | undefined
/** The loop's idle time at the end of the last stall. Once it has grown, the loop has handled all earlier events. */
let idleAtStallEndMs = Number.POSITIVE_INFINITY

export function watchCalls(watcher: CallWatcher): () => void {
  watchers.add(watcher)
  listen()
  return () => {
    watchers.delete(watcher)
    unlistenIfIdle()
  }
}

/** Called when a recorded request has left the gate. Call {@link endRequest} at its end. */
export function beginRequest(arrivedAtMs: number, startedAtMs: number, lateMs: number): RequestTimes {
  pending++
  holdCounted()
  listen()
  return new RequestTimes(arrivedAtMs, startedAtMs, lateMs)
}

/** Ends a request and returns its record. Unless `kept`, the record object is reused for the next request. */
export function endRequest(times: RequestTimes, endedAtMs: number, kept: boolean): RequestTimeline {
  pending--
  releaseCounted()
  unlistenIfIdle()
  // A client or a handler that gives up while a dependency hangs has waited for that dependency.
  if (times.openCalls !== undefined) {
    for (const call of times.openCalls) times.addCall(timelineOf(call.upTo(endedAtMs)))
  }
  const timeline = kept ? new RequestTimeline() : passing
  timeline.write(times, endedAtMs, stallsAround(times.arrivedAtMs, endedAtMs))
  return timeline
}

const passing = new RequestTimeline()

/** How long a request that is being parsed now may have waited in its socket since `sinceMs`, ms. */
export function latenessNow(nowMs: number, sinceMs: number): number {
  if (stalledBetween(nowMs - AFTERMATH_MS, nowMs) === 0) return 0
  const before = stallsAround(Math.max(nowMs - LOOK_BACK_MS, sinceMs - AFTERMATH_MS), nowMs)
  const last = before.at(-1)
  const over = last !== undefined && last.toMs < nowMs
  if (over && performance.nodeTiming.idleTime > idleAtStallEndMs) return 0
  return nowMs - Math.max(stallBefore(before, nowMs), sinceMs)
}

function stallsAround(fromMs: number, toMs: number): Intervals {
  const totalMs = stalledBetween(fromMs, toMs)
  if (totalMs === 0) return NEVER
  const known = stallsBetween(fromMs, toMs)
  const stillOnMs = totalMs - lengthMs(within(known, fromMs, toMs))
  // Values below this are rounding errors of sums.
  return stillOnMs > 0.001 ? [...known, { fromMs: toMs - stillOnMs, toMs }] : known
}

function listen(): void {
  if (unlisten !== undefined) return
  calls.subscribe(onCall)
  stalls.subscribe(onStall)
  const stopObserving = observeHttpCalls()
  unlisten = () => {
    stopObserving()
    calls.unsubscribe(onCall)
    stalls.unsubscribe(onStall)
  }
}

function unlistenIfIdle(): void {
  if (pending > 0 || watchers.size > 0 || requests.hasSubscribers || passingRequests.hasSubscribers) return
  unlisten?.()
  unlisten = undefined
}

function onStall(): void {
  idleAtStallEndMs = performance.nodeTiming.idleTime
}

function onCall(record: OutboundRecord): void {
  const { scope } = record
  const timeline = timelineOf(record)
  if (scope instanceof RequestTimes) scope.addCall(timeline)
  learn(record, timeline)
  for (const watcher of watchers) watcher(record, timeline)
}

function learn(record: OutboundRecord, { dependencyMs: { low, high } }: CallTimeline): void {
  if (record.outcome !== 'answered' || record.endedAtMs - learnedAtMs < LEARN_EVERY_MS) return
  // Without a heartbeat it is unknown whether a stall affected the call.
  if (high === 0 || high - low >= 1 || !isBeating()) return
  learnedAtMs = record.endedAtMs
  usual.note(peerOf(record), record.route, high)
}

function timelineOf(record: OutboundRecord): CallTimeline {
  const { startedAtMs, queuedMs, connectMs, sentAtMs, firstByteAtMs, endedAtMs } = record
  const around = stallsAround(startedAtMs, endedAtMs)
  return callTimeline({
    ...{ startedAtMs, queuedMs, connectMs, sentAtMs, firstByteAtMs, endedAtMs },
    // Not all databases report when a query was sent.
    failedToConnect: record.kind === 'http' && sentAtMs === undefined && firstByteAtMs === undefined,
    stalls: around,
    claimedMs: claimedMs(record.serverTiming),
    usualMs: around.length === 0 ? undefined : (lowMs, highMs) => usual.of(peerOf(record), record.route, lowMs, highMs),
  })
}

const peerOf = ({ peer, operation }: OutboundRecord): string => `${peer} ${operation}`
