/**
 * Where the time of one call to a dependency went. Pure.
 *
 *   |-- queued --|-- connect --|======== waiting for the first byte ========|-- body --|
 *   called                     sent                                      seen       ended
 *
 * `seen` is when we came to look, not when the answer came. When our loop was stalled just then, the answer may have
 * lain in the socket during the whole stall: so the dependency took between `low` (it came as the stall began) and
 * `high` (it came as we looked). A stall that ended while nothing had come yet says nothing against the dependency.
 * The peer's own `Server-Timing`, clamped to what is possible, tells where in between, and what the network took.
 *
 * What is queued waits for a connection that other calls hold: the dependency's share, but not what this call took there.
 * A stall meanwhile is ours, because the connection could not be handed on. So is the time in which the peer's name could
 * not be looked up because our own work had all threads of the pool, whether the call waited for that connection or made it.
 */
import type { Shares, Verdict } from '../record.ts'
import { AFTERMATH_MS } from '../signals/stall-ledger.ts'
import { type Intervals, lengthMs, NEVER, subtract, within } from './intervals.ts'
import { verdictOf } from './verdict.ts'

export interface CallFacts {
  readonly startedAtMs: number
  readonly queuedMs: number
  readonly connectMs: number | undefined
  readonly sentAtMs: number | undefined
  readonly firstByteAtMs: number | undefined
  readonly endedAtMs: number
  readonly failedToConnect: boolean
  /** In order; one that is still on ends at `endedAtMs`. */
  readonly stalls: Intervals
  /** When lookups of the peer's name waited for a thread of ours. */
  readonly threadWaits: Intervals
  readonly claimedMs: number | undefined
  /** What this peer usually takes when it takes between `lowMs` and `highMs`. */
  readonly usualMs: ((lowMs: number, highMs: number) => number | undefined) | undefined
}

export interface CallTimeline {
  readonly wallMs: number
  /** What the dependency took: at least, at most, and our best single figure. */
  readonly dependencyMs: { readonly low: number; readonly high: number; readonly best: number }
  readonly connectMs: number
  /** When it waited for a thread of ours, before it was sent. */
  readonly threadWaits: Intervals
  readonly shares: Shares
  readonly verdict: Verdict
  readonly startedAtMs: number
  /** When its turn on a connection had come; `startedAtMs` where it did not wait. */
  readonly turnAtMs: number
  readonly sentAtMs: number
}

export function callTimeline(facts: CallFacts): CallTimeline {
  const { startedAtMs, endedAtMs, stalls } = facts
  const wallMs = Math.max(0, endedAtMs - startedAtMs)
  const queuedMs = clamp(facts.queuedMs, 0, wallMs)
  const turnAtMs = startedAtMs + queuedMs
  const queueStalledMs = lengthMs(within(stalls, startedAtMs, turnAtMs))
  if (facts.failedToConnect) return unconnected(facts, wallMs, turnAtMs, queueStalledMs)

  const connectMs = clamp(facts.connectMs ?? 0, 0, wallMs - queuedMs)
  const readyAtMs = turnAtMs + connectMs
  const sentAtMs = clamp(facts.sentAtMs ?? readyAtMs, readyAtMs, endedAtMs)
  const seenAtMs = clamp(facts.firstByteAtMs ?? endedAtMs, sentAtMs, endedAtMs)
  const waitedMs = seenAtMs - sentAtMs
  // A stall that held up the sending is ours, unless the request had left before it.
  const heldMs = facts.sentAtMs === undefined ? Math.min(waitedMs, stallAround(stalls, sentAtMs) - sentAtMs) : 0
  const layFromMs = facts.firstByteAtMs === undefined ? seenAtMs : stallBefore(stalls, seenAtMs)
  const lainMs = clamp(seenAtMs - layFromMs, 0, waitedMs - heldMs)

  const high = waitedMs - heldMs
  const low = high - lainMs
  // Where nothing is known of the peer, not even the order of magnitude is: the middle of the orders.
  const likely = facts.claimedMs ?? (low < high ? facts.usualMs?.(low, high) : undefined) ?? Math.sqrt(low * high)
  const best = clamp(likely, facts.claimedMs === undefined ? low : 0, high)
  // The peer did not have it, and it did not lie here either.
  const wayMs = Math.max(0, low - best)

  const bodyStalledMs = lengthMs(within(stalls, seenAtMs, endedAtMs))
  const bodyMs = endedAtMs - seenAtMs - bodyStalledMs
  // While a connection is made, too, it may be ready and we may not look.
  const connectStalledMs = lengthMs(within(stalls, turnAtMs, readyAtMs))
  const { threadWaits, inQueueMs, inConnectMs } = waitsForThreads(facts, turnAtMs, readyAtMs)
  const connectWayMs = connectMs - connectStalledMs - inConnectMs
  const shares = {
    loopMs: heldMs + (high - best - wayMs) + bodyStalledMs + connectStalledMs + queueStalledMs,
    dependencyMs: queuedMs - queueStalledMs - inQueueMs + best + bodyMs,
    networkMs: wayMs + connectWayMs,
    selfMs: sentAtMs - readyAtMs + inQueueMs + inConnectMs,
  }
  return {
    wallMs,
    dependencyMs: { low: low + bodyMs, high: high + bodyMs, best: best + bodyMs },
    connectMs: connectWayMs,
    threadWaits,
    shares,
    verdict: verdictOf(shares),
    startedAtMs,
    turnAtMs,
    sentAtMs: sentAtMs + heldMs,
  }
}

function unconnected(facts: CallFacts, wallMs: number, turnAtMs: number, queueStalledMs: number): CallTimeline {
  const { stalls, startedAtMs, endedAtMs } = facts
  const queuedMs = turnAtMs - startedAtMs
  const tryingMs = wallMs - queuedMs
  const stalledMs = clamp(endedAtMs - stallBefore(stalls, endedAtMs), 0, tryingMs)
  const sentAtMs = turnAtMs + tryingMs - stalledMs
  const { threadWaits, inQueueMs, inConnectMs } = waitsForThreads(facts, turnAtMs, sentAtMs)
  // Nothing else can have gone on meanwhile.
  const waitStalledMs = lengthMs(within(facts.threadWaits, turnAtMs, sentAtMs)) - inConnectMs
  const networkMs = sentAtMs - turnAtMs - inConnectMs - waitStalledMs
  const shares = {
    loopMs: stalledMs + queueStalledMs + waitStalledMs,
    dependencyMs: queuedMs - queueStalledMs - inQueueMs,
    networkMs,
    selfMs: inQueueMs + inConnectMs,
  }
  return {
    wallMs,
    dependencyMs: { low: 0, high: 0, best: 0 },
    connectMs: networkMs,
    threadWaits,
    shares,
    verdict: verdictOf(shares),
    startedAtMs,
    turnAtMs,
    sentAtMs,
  }
}

/** Its waits for threads until its connection was ready, in its queue and in making the connection. */
function waitsForThreads({ threadWaits: all, stalls, startedAtMs }: CallFacts, turnAtMs: number, readyAtMs: number) {
  if (all.length === 0) return { threadWaits: NEVER, inQueueMs: 0, inConnectMs: 0 }
  const threadWaits = subtract(within(all, startedAtMs, readyAtMs), stalls)
  const inQueueMs = lengthMs(within(threadWaits, startedAtMs, turnAtMs))
  return { threadWaits, inQueueMs, inConnectMs: lengthMs(threadWaits) - inQueueMs }
}

/** When the stall began whose end or aftermath `atMs` lies in; `atMs` itself when there is none. */
export function stallBefore(stalls: Intervals, atMs: number): number {
  let fromMs = atMs
  for (let i = stalls.length - 1; i >= 0; i--) {
    const stall = stalls[i]!
    if (stall.fromMs >= fromMs) continue
    if (stall.toMs < fromMs - AFTERMATH_MS) break
    fromMs = stall.fromMs
  }
  return fromMs
}

function stallAround(stalls: Intervals, atMs: number): number {
  for (const { fromMs, toMs } of stalls) if (fromMs <= atMs && toMs > atMs) return toMs
  return atMs
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}
