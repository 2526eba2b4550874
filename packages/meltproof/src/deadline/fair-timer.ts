/**
 * Timeouts that this process's own stalls do not cause. When a limit has passed, it is extended by the stalls of the
 * loop (fair-rule.ts). Then the loop polls twice more, so that an answer in the socket wins. All timeouts share one
 * Node timer: separate timers would cost twice as much (bench/deadline.ts). Nothing here keeps the process alive.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'
import { now } from '../clock.ts'
import { holdCounted, releaseCounted, stalledBetween } from '../signals/loop-stalls.ts'
import { creditDue } from './fair-rule.ts'
import { type HeapEntry, TimerHeap } from './timer-heap.ts'

export interface FairTimer {
  cancel(): void
}

/**
 * Calls `onExpired` once when `ms` of unstalled time have passed; Infinity never expires. The callback runs without an
 * async context, and its exceptions are uncaught, as with setTimeout. Stalls extend the time by at most `creditCapMs`,
 * and by at most `ms`.
 */
export function startFairTimer(
  ms: number,
  onExpired: () => void,
  options?: { readonly creditCapMs: number },
): FairTimer {
  const timer = new PendingTimer(now(), ms > 0 ? ms : 0, onExpired, options?.creditCapMs)
  if (timer.dueMs === Number.POSITIVE_INFINITY) return timer
  if (heap.size === 0) holdCounted()
  heap.add(timer)
  if (timer.dueMs < wakeAtMs) wakeBy(timer.dueMs, timer.startMs)
  return timer
}

export function pendingFairTimers(): number {
  return heap.size
}

/** A class rather than a closure, so that a pending deadline holds only about 150 bytes. */
class PendingTimer implements FairTimer, HeapEntry {
  slot = -1
  readonly startMs: number
  readonly limitMs: number
  dueMs: number
  /** Undefined instead of 0, because V8 would allocate an object for a number with a fraction. */
  givenMs: number | undefined = undefined
  readonly creditCapMs: number | undefined
  onExpired: (() => void) | undefined

  constructor(startMs: number, limitMs: number, onExpired: () => void, creditCapMs: number | undefined) {
    this.startMs = startMs
    this.limitMs = limitMs
    this.dueMs = startMs + limitMs
    this.onExpired = onExpired
    this.creditCapMs = creditCapMs
  }

  cancel(): void {
    this.onExpired = undefined
    if (this.slot < 0) return
    heap.remove(this)
    // The Node timer stays: letting it fire without use costs less than clearing and setting it each time.
    if (heap.size === 0) releaseCounted()
  }
}

const heap = new TimerHeap<PendingTimer>()
let wakeTimer: NodeJS.Timeout | undefined
let wakeAtMs = Number.POSITIVE_INFINITY
/** The shared Node timer must not hold the async context of the code that armed it. */
const atRoot: <R>(run: () => R) => R = AsyncLocalStorage.snapshot()
const LONGEST_NODE_TIMEOUT_MS = 2 ** 31 - 1
const EARLY_MS = 0.5

function wakeBy(dueMs: number, nowMs: number): void {
  wakeAtMs = dueMs
  const delayMs = Math.min(LONGEST_NODE_TIMEOUT_MS, Math.max(1, Math.ceil(dueMs - nowMs)))
  clearTimeout(wakeTimer)
  atRoot(() => {
    wakeTimer = setTimeout(wake, delayMs).unref()
  })
}

function wake(): void {
  wakeAtMs = Number.POSITIVE_INFINITY
  const nowMs = now()
  const passed: PendingTimer[] = []
  for (let first = heap.first; first !== undefined && first.dueMs <= nowMs + EARLY_MS; first = heap.first) {
    heap.remove(first)
    const creditMs = creditOf(first, nowMs)
    if (creditMs > 0) {
      first.givenMs = (first.givenMs ?? 0) + creditMs
      first.dueMs = nowMs + creditMs
      heap.add(first)
    } else passed.push(first)
  }
  if (heap.first !== undefined) wakeBy(heap.first.dueMs, nowMs)
  if (passed.length === 0) return
  // The heartbeat keeps running until judge() runs, so that a stall during the last two turns counts too.
  if (heap.size > 0) holdCounted()
  // The loop polls once in each of these two turns, so that data which has arrived is read and handled.
  setImmediate(() => setImmediate(judge, passed))
}

function creditOf(timer: PendingTimer, nowMs: number): number {
  const { startMs, limitMs, givenMs = 0, creditCapMs = Number.POSITIVE_INFINITY } = timer
  const stalledMs = stalledBetween(startMs, nowMs)
  return creditDue({ limitMs, elapsedMs: nowMs - startMs, stalledMs, givenMs, creditCapMs })
}

function judge(passed: readonly PendingTimer[]): void {
  for (const timer of passed) {
    try {
      timer.onExpired?.()
    } catch (error) {
      setImmediate(() => {
        throw error
      })
    }
  }
  releaseCounted()
}
