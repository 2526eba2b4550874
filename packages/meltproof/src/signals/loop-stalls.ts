/**
 * The stall ledger of this process, and the looks that feed it, while somebody holds it.
 *
 * Most looks cost nothing of their own: whoever reads something from a socket looks on the way ({@link look}), and what
 * is read first after a stall lay there. The heartbeat is for the time in between. A beat costs about a tenth of a
 * millisecond of CPU, for waking up a process that rests or for code that is never warm (bench/observed.ts); so it beats
 * seldom while others look, seldom enough while the loop rests that busy time in between is no stall, and often only when
 * it alone can tell. It never keeps the process alive.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers'
import { stalls } from '../channels.ts'
import { now } from '../clock.ts'
import { loopTurn } from './loop-turn.ts'
import { STALL_TUNING, type Stall, StallLedger } from './stall-ledger.ts'

/** The heartbeat, ms: at its fastest; at rest; and while others look. */
const PERIOD_MS = { least: 10, most: 50, flow: 100 } as const
/** Others look when the last look is no older than this, ms. */
const FLOW_MS = 20
/** Looks closer than this to the last one tell nothing new, ms. */
const LOOK_EVERY_MS = 10

const ledger = new StallLedger()
/** Runs outside of every async context: the heartbeat must not hold on to the request that happened to start it. */
const atRoot: <R>(run: () => R) => R = AsyncLocalStorage.snapshot()
let holders = 0
let heartbeat: NodeJS.Timeout | undefined
/** When the last beat came, and when the next is due. */
let beatAtMs = 0
let dueAtMs = 0
const delayWatchers = new Set<(delayMs: number) => void>()

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

/** Something has come out of a socket at `nowMs`, now. Cheap: nearly always the last look was a moment ago. */
export function look(nowMs: number): void {
  // Not while nothing is watched either: the time of the last look is then no number.
  if (nowMs - ledger.lookedAtMs >= LOOK_EVERY_MS) lookAt(nowMs, idleMs())
}

/** Milliseconds of stall of this process's event loop within [fromMs, toMs], on the clock of clock.ts. */
export function stalledBetween(fromMs: number, toMs: number): number {
  return ledger.mayBeStalled(toMs)
    ? ledger.stalledBetween(fromMs, toMs, idleMs(), loopTurn())
    : ledger.stalledBetween(fromMs, toMs, Number.POSITIVE_INFINITY, Number.NaN)
}

/** Since when what is read at `atMs`, now, may have lain unread because the loop was stalled; `atMs` when it was not. */
export function lainSince(atMs: number): number {
  return ledger.mayBeStalled(atMs)
    ? ledger.lainSince(atMs, idleMs(), loopTurn())
    : ledger.lainSince(atMs, Number.POSITIVE_INFINITY, Number.NaN)
}

/** The stalls that touch [fromMs, toMs], oldest first; about the last minute is remembered. */
export function stallsBetween(fromMs: number, toMs: number): Stall[] {
  return ledger.stallsBetween(fromMs, toMs)
}

/**
 * Tells by how much the loop was late, ms: each beat when it comes, and each stall that no beat has met. Holds. Returns
 * what ends it.
 */
export function watchDelays(watcher: (delayMs: number) => void): () => void {
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
  const nowMs = now()
  ledger.start(nowMs, idleMs(), loopTurn())
  atRoot(() => beatIn(PERIOD_MS.least, nowMs))
}

function beatIn(periodMs: number, nowMs: number): void {
  beatAtMs = nowMs
  dueAtMs = nowMs + periodMs
  heartbeat = setTimeout(beat, periodMs).unref()
}

function beat(): void {
  const nowMs = now()
  const idle = idleMs()
  const othersLook = ledger.lookedAtMs > beatAtMs && nowMs - ledger.lookedAtMs <= FLOW_MS
  // As long as this, and what is busy meanwhile adds up to half a stall.
  const clearMs = Math.floor(STALL_TUNING.leastMs / 2 / Math.max(ledger.busyShare(nowMs, idle), 1e-9))
  for (const watcher of delayWatchers) watcher(Math.max(0, nowMs - dueAtMs))
  lookAt(nowMs, idle)
  if (holders === 0) {
    heartbeat = undefined
    ledger.stop()
  } else beatIn(othersLook ? PERIOD_MS.flow : Math.min(Math.max(clearMs, PERIOD_MS.least), PERIOD_MS.most), nowMs)
}

function lookAt(nowMs: number, idle: number): void {
  const stall = ledger.look(nowMs, idle, loopTurn())
  if (stall === undefined) return
  if (stalls.hasSubscribers) stalls.publish(stall)
  // A beat that was due meanwhile comes late, and tells of it itself.
  if (stall.toMs < dueAtMs) for (const watcher of delayWatchers) watcher(stall.toMs - stall.fromMs)
}

/** How long the loop has waited for something to do since the process began. */
function idleMs(): number {
  return performance.nodeTiming.idleTime
}
