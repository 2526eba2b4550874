/**
 * Keeps the timelines of this process: puts records, the stall ledger and the eventsWaiting certificate together.
 * Works only while somebody asks; by itself it has the stall ledger's heartbeat run only while a request is pending.
 */
import { performance } from 'node:perf_hooks'
import { calls, passingRequests, requests, stalls } from '../channels.ts'
import type { OutboundRecord, StallRecord } from '../record.ts'
import { certify } from '../signals/events-waiting.ts'
import { holdCounted, releaseCounted, stalledBetween, stallsBetween } from '../signals/loop-stalls.ts'
import { AFTERMATH_MS } from '../signals/stall-ledger.ts'
import { type CallTimeline, callTimeline } from './call-timeline.ts'
import { type Intervals, lengthMs, NEVER, within } from './intervals.ts'
import { observeHttpCalls } from '../outbound/observe.ts'
import { latenessMs, RequestTimeline } from './request-timeline.ts'
import { RequestTimes } from './request-times.ts'
import { claimedMs } from './server-timing.ts'
import { UsualTimes } from './usual.ts'

/** How late the loop was, for whoever observes. */
export { watchDelays } from '../signals/loop-stalls.ts'

export type CallWatcher = (record: OutboundRecord, timeline: CallTimeline) => void

/** How far back stalls are looked for that run into the one at hand, ms. */
const LOOK_BACK_MS = 2000

const usual = new UsualTimes()
const watchers = new Set<CallWatcher>()
let pending = 0
let unlisten: (() => void) | undefined
/** The loop's idle time when the last stall ended: it has turned to something new as soon as that grows. */
let idleAtStallEndMs = Number.POSITIVE_INFINITY

/** Calls back for each call to a dependency, in the turn in which it ended. */
export function watchCalls(watcher: CallWatcher): () => void {
  watchers.add(watcher)
  listen()
  return () => {
    watchers.delete(watcher)
    unlistenIfIdle()
  }
}

/** A request has left the gate whose time somebody will want to know. Pair it with {@link endRequest}. */
export function beginRequest(arrivedAtMs: number, startedAtMs: number, lateMs: number): RequestTimes {
  pending++
  holdCounted()
  listen()
  return new RequestTimes(arrivedAtMs, startedAtMs, lateMs)
}

/**
 * It is over: gives its record, in which what it was is still to be filled in. Where that is not `kept` it is the next
 * request's as soon as whoever gets it has read it.
 */
export function endRequest(times: RequestTimes, endedAtMs: number, kept: boolean): RequestTimeline {
  pending--
  releaseCounted()
  unlistenIfIdle()
  const timeline = times.end(kept ? newTimeline : passingTimeline)
  timeline.end(endedAtMs, stallsAround(times.arrivedAtMs, endedAtMs))
  return timeline
}

const passing = new RequestTimeline(0)
const passingTimeline = (): RequestTimeline => passing
const newTimeline = (): RequestTimeline => new RequestTimeline(0)

/**
 * How long a request that is being parsed right now may have lain in its socket, ms; not before `sinceMs`. Cheap when nothing
 * stalled.
 */
export function latenessNow(nowMs: number, sinceMs: number): number {
  if (stalledBetween(nowMs - AFTERMATH_MS, nowMs) === 0) return 0
  const before = stallsAround(Math.max(nowMs - LOOK_BACK_MS, sinceMs - AFTERMATH_MS), nowMs)
  const last = before.at(-1)
  const over = last !== undefined && last.toMs < nowMs
  if (over && performance.nodeTiming.idleTime > idleAtStallEndMs) return 0
  return Math.min(latenessMs(before, nowMs), nowMs - sinceMs)
}

/** Whole stalls that touch [fromMs, toMs], in order, with the one that is still on. */
function stallsAround(fromMs: number, toMs: number): Intervals {
  const totalMs = stalledBetween(fromMs, toMs)
  if (totalMs === 0) return NEVER
  const known = stallsBetween(fromMs, toMs)
  const stillOnMs = totalMs - lengthMs(within(known, fromMs, toMs))
  // Sums of floats differ in their last digits.
  return stillOnMs > 0.001 ? [...known, { fromMs: toMs - stillOnMs, toMs }] : known
}

function listen(): void {
  if (unlisten !== undefined) return
  calls.subscribe(onCall)
  stalls.subscribe(onStall)
  const stopRecording = observeHttpCalls()
  unlisten = () => {
    stopRecording()
    calls.unsubscribe(onCall)
    stalls.unsubscribe(onStall)
  }
}

function unlistenIfIdle(): void {
  if (pending > 0 || watchers.size > 0 || requests.hasSubscribers || passingRequests.hasSubscribers) return
  unlisten?.()
  unlisten = undefined
}

function onStall(_: StallRecord): void {
  idleAtStallEndMs = performance.nodeTiming.idleTime
}

function onCall(record: OutboundRecord): void {
  if (record.scope instanceof RequestTimes) record.scope.addCall(evaluate(record, undefined))
  if (watchers.size === 0) return
  // The certificate is about this turn: it says something about an answer that was seen in it, and nothing of others.
  const { firstByteAtMs, endedAtMs } = record
  if (firstByteAtMs === undefined || endedAtMs - firstByteAtMs > 1) tell(record, undefined)
  else certify(lay => tell(record, lay))
}

function tell(record: OutboundRecord, lay: boolean | undefined): void {
  const timeline = evaluate(record, lay)
  const { low, high } = timeline.dependencyMs
  if (record.outcome === 'answered' && high - low < 1) usual.note(keyOf(record), high)
  for (const watcher of watchers) watcher(record, timeline)
}

function evaluate(record: OutboundRecord, answerLay: boolean | undefined): CallTimeline {
  const { startedAtMs, queuedMs, connectMs, sentAtMs, firstByteAtMs, endedAtMs } = record
  const around = stallsAround(startedAtMs, endedAtMs)
  return callTimeline({
    startedAtMs,
    queuedMs,
    connectMs,
    sentAtMs,
    firstByteAtMs,
    endedAtMs,
    failedToConnect: firstByteAtMs === undefined && (record.phase === 'connect' || neverConnected(record.errorCode)),
    stalls: around,
    claimedMs: claimedMs(record.serverTiming),
    answerLay,
    usualMs: around.length === 0 ? undefined : (lowMs, highMs) => usual.of(keyOf(record), lowMs, highMs),
  })
}

const keyOf = ({ peer, operation }: OutboundRecord): string => `${peer} ${operation}`

/** Codes of Node, undici and the database clients for a connection that did not come about. */
const CONNECT_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

function neverConnected(code: string | undefined): boolean {
  return code !== undefined && CONNECT_CODES.has(code)
}
