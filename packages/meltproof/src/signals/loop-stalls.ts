/**
 * The stall ledger of this process, and the heartbeat that feeds it. The heartbeat runs only while somebody holds it, and
 * never keeps the process alive. A beat costs about a tenth of a millisecond of CPU (bench/observed.ts), nearly all of it
 * for waking up a process that rests, so while the loop rests it beats less often: a stall shorter than its period may
 * then go unseen.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers'
import { stalls } from '../channels.ts'
import { now } from '../clock.ts'
import { STALL_TUNING, type Stall, StallLedger } from './stall-ledger.ts'

/** A loop that waits for more than a share of its time gets its next beat so much later, ms; the others 10. */
const RESTING: readonly { readonly idleShare: number; readonly periodMs: number }[] = [
  { idleShare: 0.95, periodMs: 50 },
  { idleShare: 0.8, periodMs: 20 },
]

const ledger = new StallLedger()
/** Runs outside of every async context: the heartbeat must not hold on to the request that happened to start it. */
const atRoot: <R>(run: () => R) => R = AsyncLocalStorage.snapshot()
let holders = 0
let heartbeat: NodeJS.Timeout | undefined

/** Told of each beat: how long it was to wait, and how much later it came; ms. */
export type DelayWatcher = (periodMs: number, lateMs: number) => void

const delayWatchers = new Set<DelayWatcher>()

/**
 * Keeps the heartbeat going until the returned function is called; call it once, further calls do nothing. Stalls are
 * known from the moment of the first hold.
 */
export function hold(): () => void {
  holdCounted()
  let held = true
  return () => {
    if (held) releaseCounted()
    held = false
  }
}

/** {@link hold} for a caller that counts for itself: every call is paired with one of {@link releaseCounted}. */
export function holdCounted(): void {
  holders++
  if (heartbeat === undefined) start()
}

/** The heartbeat ends with its next beat rather than at once: whoever arms and clears often pays for neither. */
export function releaseCounted(): void {
  holders--
}

/** Milliseconds of stall of this process's event loop within [fromMs, toMs], on the clock of clock.ts. */
export function stalledBetween(fromMs: number, toMs: number): number {
  return ledger.stalledBetween(fromMs, toMs, ledger.overdue(toMs) ? idleMs() : 0)
}

/** Since when what is read at `atMs`, now, may have lain unread because the loop was stalled; `atMs` when it was not. */
export function lainSince(atMs: number): number {
  return ledger.lainSince(atMs, ledger.overdue(atMs) ? idleMs() : 0)
}

/** The stalls that touch [fromMs, toMs], oldest first; about the last minute is remembered. */
export function stallsBetween(fromMs: number, toMs: number): Stall[] {
  return ledger.stallsBetween(fromMs, toMs)
}

/** Tells of each beat how late the loop was. Holds. Returns what ends it. */
export function watchDelays(watcher: DelayWatcher): () => void {
  delayWatchers.add(watcher)
  const release = hold()
  return () => {
    delayWatchers.delete(watcher)
    release()
  }
}

/** Whether stalls are being watched at this moment. */
export function isBeating(): boolean {
  return heartbeat !== undefined
}

function start(): void {
  ledger.start(now(), idleMs())
  atRoot(() => {
    heartbeat = setTimeout(beat, STALL_TUNING.periodMs).unref()
  })
}

function beat(): void {
  const nowMs = now()
  const idle = idleMs()
  const stalled = stalls.hasSubscribers && ledger.overdue(nowMs)
  const idleShare = ledger.idleSince(nowMs, idle)
  const nextInMs = RESTING.find(resting => idleShare > resting.idleShare)?.periodMs ?? STALL_TUNING.periodMs
  for (const watcher of delayWatchers) watcher(ledger.periodMs, Math.max(0, ledger.lateMs(nowMs)))
  ledger.beat(nowMs, idle, nextInMs)
  if (stalled) for (const stall of ledger.stallsBetween(nowMs - 1, nowMs)) stalls.publish(stall)
  if (holders > 0) {
    heartbeat = setTimeout(beat, nextInMs).unref()
    return
  }
  heartbeat = undefined
  ledger.stop()
}

/** How long the loop has waited for something to do since the process began. */
function idleMs(): number {
  return performance.nodeTiming.idleTime
}
