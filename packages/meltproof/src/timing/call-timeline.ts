/**
 * Computes where the time of one call to a dependency went. Pure.
 *
 *   |-- queued --|-- connect --|======== waiting for the first byte ========|-- body --|
 *   called                     sent                                      seen       ended
 *
 * `seen` is when this process read the answer, not when it arrived. If the loop was stalled just before, the answer may
 * have waited in the socket during the whole stall: so the dependency took between `low` (it arrived when the stall
 * began) and `high` (it arrived when it was read). A stall that ended before the answer arrived changes nothing. The
 * peer's own `Server-Timing`, clamped to what is possible, gives the value in between, and the share of the network.
 *
 * A queued call waits for a connection that other calls hold: this counts as the dependency's share, but not as time
 * that this call took there. A stall during the wait is the loop's share, because the connection could not be passed
 * on.
 */
import type { OutboundRecord, Shares, Verdict } from '../record.ts'
import { AFTERMATH_MS } from '../signals/stall-ledger.ts'
import { type Intervals, lengthMs, within } from './intervals.ts'
import { verdictOf } from './verdict.ts'

type Times = 'startedAtMs' | 'queuedMs' | 'connectMs' | 'sentAtMs' | 'firstByteAtMs' | 'endedAtMs'

export interface CallFacts extends Pick<OutboundRecord, Times> {
  readonly failedToConnect: boolean
  /** Stalls in order. A stall in progress ends at `endedAtMs`. */
  readonly stalls: Intervals
  readonly claimedMs: number | undefined
  /** The usual duration at this peer, given that it lies between `lowMs` and `highMs`. */
  readonly usualMs: ((lowMs: number, highMs: number) => number | undefined) | undefined
}

export interface CallTimeline {
  readonly wallMs: number
  /** The time at the dependency: minimum, maximum and best estimate. */
  readonly dependencyMs: { readonly low: number; readonly high: number; readonly best: number }
  readonly connectMs: number
  readonly shares: Shares
  readonly verdict: Verdict
  readonly startedAtMs: number
  /** When the call got a connection; `startedAtMs` if it did not wait for one. */
  readonly turnAtMs: number
  readonly sentAtMs: number
}

export function callTimeline(facts: CallFacts): CallTimeline {
  const { startedAtMs, endedAtMs, failedToConnect, stalls } = facts
  const wallMs = Math.max(0, endedAtMs - startedAtMs)
  const queuedMs = clamp(facts.queuedMs, 0, wallMs)
  const turnAtMs = startedAtMs + queuedMs
  const queueStalledMs = lengthMs(within(stalls, startedAtMs, turnAtMs))
  const connectMs = failedToConnect ? wallMs - queuedMs : clamp(facts.connectMs ?? 0, 0, wallMs - queuedMs)
  const readyAtMs = turnAtMs + connectMs
  const sentAtMs = clamp(facts.sentAtMs ?? readyAtMs, readyAtMs, endedAtMs)
  const seenAtMs = clamp(facts.firstByteAtMs ?? endedAtMs, sentAtMs, endedAtMs)
  const waitedMs = seenAtMs - sentAtMs
  // A stall that delayed the sending is the loop's share, unless the request had been sent before the stall.
  const heldMs = facts.sentAtMs === undefined ? Math.min(waitedMs, stallAround(stalls, sentAtMs) - sentAtMs) : 0
  const layFromMs = facts.firstByteAtMs === undefined ? seenAtMs : stallBefore(stalls, seenAtMs)
  const lainMs = clamp(seenAtMs - layFromMs, 0, waitedMs - heldMs)

  const high = waitedMs - heldMs
  const low = high - lainMs
  // For an unknown peer even the order of magnitude is unknown: hence the geometric mean.
  const likely = facts.claimedMs ?? (low < high ? facts.usualMs?.(low, high) : undefined) ?? Math.sqrt(low * high)
  const best = clamp(likely, facts.claimedMs === undefined ? low : 0, high)
  // The remaining time was spent on the network: neither at the peer nor in the socket here.
  const wayMs = Math.max(0, low - best)

  const bodyStalledMs = lengthMs(within(stalls, seenAtMs, endedAtMs))
  const bodyMs = endedAtMs - seenAtMs - bodyStalledMs
  // During a stall a new connection may become ready without this process noticing. If it fails instead, only the last
  // stall may have hidden that.
  const connectStalledMs = failedToConnect
    ? clamp(endedAtMs - stallBefore(stalls, endedAtMs), 0, connectMs)
    : lengthMs(within(stalls, turnAtMs, readyAtMs))
  const connectWayMs = connectMs - connectStalledMs
  // A difference of times may round to just below 0, but the counters that add these shares must not fall.
  const shares = {
    loopMs: Math.max(0, heldMs + (high - best - wayMs) + bodyStalledMs + connectStalledMs + queueStalledMs),
    dependencyMs: Math.max(0, queuedMs - queueStalledMs + best + bodyMs),
    networkMs: Math.max(0, wayMs + connectWayMs),
    selfMs: Math.max(0, sentAtMs - readyAtMs),
  }
  return {
    wallMs,
    dependencyMs: { low: low + bodyMs, high: high + bodyMs, best: best + bodyMs },
    connectMs: connectWayMs,
    shares,
    verdict: verdictOf(shares),
    startedAtMs,
    turnAtMs,
    sentAtMs: failedToConnect ? turnAtMs + connectWayMs : sentAtMs + heldMs,
  }
}

/** The start of the stall that covers `atMs` or ended just before it; `atMs` itself if there is no such stall. */
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
