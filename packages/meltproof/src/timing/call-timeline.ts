/**
 * Whose time was it: one call to a dependency, taken apart. Pure.
 *
 *   |-- queued --|-- connect --|======== waiting for the first byte ========|-- body --|
 *   called                     sent                                      seen       ended
 *
 * `seen` is when we came to look, not when the answer came. When our loop was stalled just then, the answer may have
 * lain in the socket for as long as the stall: so the dependency took between `low` (it came as the stall began) and
 * `high` (it came as we looked). A stall that ended while nothing had come yet says nothing against the dependency.
 * The peer's own `Server-Timing`, clamped to what is possible, tells where in between, and what the network took.
 */
import { AFTERMATH_MS } from '../signals/stall-ledger.ts'
import type { Shares, Verdict } from '../record.ts'
import { type Intervals, lengthMs, within } from './intervals.ts'
import { verdictOf } from './verdict.ts'

export interface CallFacts {
  readonly startedAtMs: number
  readonly queuedMs: number
  readonly connectMs: number | undefined
  readonly sentAtMs: number | undefined
  readonly firstByteAtMs: number | undefined
  readonly endedAtMs: number
  /** It never got beyond making a connection. */
  readonly failedToConnect: boolean
  /** Stalls of our loop around that time, in order; one that is still on ends at `endedAtMs`. */
  readonly stalls: Intervals
  /** What the peer claims to have taken, ms. */
  readonly claimedMs: number | undefined
  /** Whether the loop found the answer waiting when it came to look; undefined when not known. */
  readonly answerLay: boolean | undefined
  /** What this peer usually takes when it takes between `lowMs` and `highMs`, from calls no stall touched; ms. */
  readonly usualMs: ((lowMs: number, highMs: number) => number | undefined) | undefined
}

export interface CallTimeline {
  readonly wallMs: number
  /** What the dependency took: at least, at most, and our best single figure. */
  readonly dependencyMs: { readonly low: number; readonly high: number; readonly best: number }
  /** How long the answer lay here (and the request waited to be sent) because our loop was stalled. */
  readonly ownStallMs: number
  /** Of which was spent on making a connection. */
  readonly connectMs: number
  readonly networkMs: number
  /** Waited for a slot or a pooled connection. */
  readonly queuedMs: number
  /** Whether the peer's Server-Timing was used. */
  readonly narrowedByPeer: boolean
  readonly shares: Shares
  readonly verdict: Verdict
  /** When the dependency had it, for a request's timeline; the network's part follows. */
  readonly sentAtMs: number
}

export function callTimeline(facts: CallFacts): CallTimeline {
  const { startedAtMs, endedAtMs, stalls } = facts
  const wallMs = Math.max(0, endedAtMs - startedAtMs)
  const queuedMs = clamp(facts.queuedMs, 0, wallMs)
  if (facts.failedToConnect) return unconnected(facts, wallMs, queuedMs)

  const afterQueueMs = wallMs - queuedMs
  const connectMs = clamp(facts.connectMs ?? 0, 0, afterQueueMs)
  const readyAtMs = startedAtMs + queuedMs + connectMs
  const knownSent = facts.sentAtMs !== undefined
  const sentAtMs = clamp(facts.sentAtMs ?? readyAtMs, readyAtMs, endedAtMs)
  const seenAtMs = clamp(facts.firstByteAtMs ?? endedAtMs, sentAtMs, endedAtMs)
  const waitedMs = seenAtMs - sentAtMs
  // A stall that held up the sending: ours, unless the request had left before it.
  const heldMs = knownSent ? 0 : Math.min(waitedMs, stallAround(stalls, sentAtMs) - sentAtMs)
  // How long the answer may have lain here. Nobody knows when none came.
  const mayHaveLain = facts.answerLay !== false && facts.firstByteAtMs !== undefined
  const layFromMs = mayHaveLain ? stallBefore(stalls, seenAtMs) : seenAtMs
  const lainMs = clamp(seenAtMs - layFromMs, 0, waitedMs - heldMs)

  const low = waitedMs - heldMs - lainMs
  const high = waitedMs - heldMs
  let best: number
  let networkMs = 0
  if (facts.claimedMs !== undefined) {
    best = clamp(facts.claimedMs, 0, high)
    // Neither the peer had it, nor did it lie here.
    networkMs = Math.max(0, low - best)
  } else best = clamp((low < high ? facts.usualMs?.(low, high) : undefined) ?? (low + high) / 2, low, high)

  const bodyMs = endedAtMs - seenAtMs
  const bodyStalledMs = bodyMs === 0 ? 0 : lengthMs(within(stalls, seenAtMs, endedAtMs))
  const beforeSentMs = sentAtMs - readyAtMs
  const ownStallMs = heldMs + (high - best - networkMs) + bodyStalledMs
  const dependencyBodyMs = bodyMs - bodyStalledMs
  // While a connection is made, too, it may be ready and we may not look.
  const connectStalledMs = connectMs === 0 ? 0 : lengthMs(within(stalls, startedAtMs + queuedMs, readyAtMs))
  const shares = {
    loopMs: ownStallMs + connectStalledMs,
    dependencyMs: best + dependencyBodyMs,
    networkMs: networkMs + connectMs - connectStalledMs,
    selfMs: queuedMs + beforeSentMs,
  }
  return {
    wallMs,
    dependencyMs: { low: low + dependencyBodyMs, high: high + dependencyBodyMs, best: best + dependencyBodyMs },
    ownStallMs: shares.loopMs,
    connectMs: connectMs - connectStalledMs,
    networkMs: shares.networkMs,
    queuedMs,
    narrowedByPeer: facts.claimedMs !== undefined,
    shares,
    verdict: verdictOf(shares),
    sentAtMs: sentAtMs + heldMs,
  }
}

/** No connection came about: what was not our stall was spent on the way. */
function unconnected({ stalls, startedAtMs, endedAtMs }: CallFacts, wallMs: number, queuedMs: number): CallTimeline {
  const tryingMs = wallMs - queuedMs
  const ownStallMs = clamp(endedAtMs - stallBefore(stalls, endedAtMs), 0, tryingMs)
  const networkMs = tryingMs - ownStallMs
  const shares = { loopMs: ownStallMs, dependencyMs: 0, networkMs, selfMs: queuedMs }
  return {
    wallMs,
    dependencyMs: { low: 0, high: 0, best: 0 },
    ownStallMs,
    connectMs: networkMs,
    networkMs,
    queuedMs,
    narrowedByPeer: false,
    shares,
    verdict: verdictOf(shares),
    sentAtMs: startedAtMs + queuedMs + networkMs,
  }
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

/** When the stall ends that `atMs` lies in; `atMs` itself when there is none. */
function stallAround(stalls: Intervals, atMs: number): number {
  for (const { fromMs, toMs } of stalls) if (fromMs <= atMs && toMs > atMs) return toMs
  return atMs
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}
