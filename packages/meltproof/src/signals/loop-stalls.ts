/**
 * The stall ledger of this process, and the heartbeat that feeds it while any caller holds it. A beat costs about 0.1
 * ms of CPU, mostly for waking an idle process (bench/observed.ts). So an idle loop beats less often, and a stall
 * shorter than that period may go unnoticed. Nothing here keeps the process alive.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers'
import { stalls } from '../channels.ts'
import { now } from '../clock.ts'
import type { StallRecord } from '../record.ts'
import { PERIOD_MS, StallLedger } from './stall-ledger.ts'

/** Period of the next beat, ms, for a loop that is idle for more than this share of its time. */
const RESTING: readonly { readonly idleShare: number; readonly periodMs: number }[] = [
  { idleShare: 0.95, periodMs: 50 },
  { idleShare: 0.8, periodMs: 20 },
]

const ledger = new StallLedger()
/** Runs a function outside every async context: the heartbeat must not retain the request that happened to start it. */
const atRoot: <R>(run: () => R) => R = AsyncLocalStorage.snapshot()
let holders = 0
let heartbeat: NodeJS.Timeout | undefined

/** `nextInMs`: time until the next beat. */
type DelayWatcher = (periodMs: number, lateMs: number, nextInMs: number) => void

const delayWatchers = new Set<DelayWatcher>()

/** Keeps the heartbeat running until {@link releaseCounted} is called once per call. The first starts the ledger. */
export function holdCounted(): void {
  holders++
  if (heartbeat !== undefined) return
  ledger.beat(now(), idleMs())
  heartbeat = atRoot(() => setTimeout(beat, PERIOD_MS).unref())
}

/** The heartbeat stops at its next beat, so that a hold followed by a release costs no timer change. */
export function releaseCounted(): void {
  holders--
}

export function stalledBetween(fromMs: number, toMs: number): number {
  return ledger.stalledBetween(fromMs, toMs, ledger.overdue(toMs) ? idleMs() : 0)
}

export function arrivedNoEarlierThan(atMs: number): number {
  return ledger.arrivedNoEarlierThan(atMs, ledger.overdue(atMs) ? idleMs() : 0)
}

export function stallsBetween(fromMs: number, toMs: number): StallRecord[] {
  return ledger.stallsBetween(fromMs, toMs)
}

/** Reports each beat to a new `watcher`, and keeps the heartbeat running, until the returned function is called. */
export function watchDelays(watcher: DelayWatcher): () => void {
  delayWatchers.add(watcher)
  holdCounted()
  return () => {
    if (delayWatchers.delete(watcher)) releaseCounted()
  }
}

export function isBeating(): boolean {
  return heartbeat !== undefined
}

function beat(): void {
  const nowMs = now()
  const idle = idleMs()
  const stalled = stalls.hasSubscribers && ledger.overdue(nowMs)
  const idleShare = ledger.idleSince(nowMs, idle)
  const nextInMs = RESTING.find(resting => idleShare > resting.idleShare)?.periodMs ?? PERIOD_MS
  for (const watcher of delayWatchers) watcher(ledger.periodMs, Math.max(0, ledger.lateMs(nowMs)), nextInMs)
  ledger.beat(nowMs, idle, nextInMs)
  if (stalled) for (const stall of ledger.stallsBetween(nowMs - 1, nowMs)) stalls.publish(stall)
  heartbeat = holders > 0 ? setTimeout(beat, nextInMs).unref() : undefined
  if (heartbeat === undefined) ledger.stop()
}

function idleMs(): number {
  return performance.nodeTiming.idleTime
}
