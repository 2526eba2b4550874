/**
 * Whose time was it: one request, taken apart. Pure; filled in as things happen, read once at the end.
 *
 * Each moment between the parsed head and the end of the answer belongs to exactly one:
 * a dependency that had a call of ours, else the network that carried one, else the handler's own first stretch (what
 * it computes itself before it first gives the loop back), else a stall of the loop, else a body or an answer on its
 * way to or from the client, else the queue at the gate, else the handler.
 */
import type { Shares, Verdict } from '../record.ts'
import { type CallTimeline, stallBefore } from './call-timeline.ts'
import { type Interval, type Intervals, lengthMs, NEVER, subtract, union, within } from './intervals.ts'
import { verdictOf } from './verdict.ts'

/** Calls of one request that are told apart; the time of later ones is the handler's. */
const MOST_CALLS = 256

export interface RequestFigures {
  readonly totalMs: number
  readonly queuedMs: number
  readonly stalledMs: number
  readonly dependencyMs: number
  readonly networkMs: number
  readonly ownMs: number
  readonly lateMs: number
  readonly calls: number
  readonly shares: Shares
  readonly verdict: Verdict
}

export class RequestTimeline {
  readonly arrivedAtMs: number
  /** Left the gate. */
  startedAtMs: number
  /** The handler first gave the loop back. */
  returnedAtMs: number = Number.NaN
  /** The request's body was complete; NaN when it came with its head. */
  receivedAtMs: number = Number.NaN
  /** The handler had given its whole answer to Node. */
  answeredAtMs: number = Number.NaN
  /** How long it may have lain in its socket before `arrivedAtMs`. */
  lateMs: number = 0
  calls: number = 0
  #dependency: Interval[] | undefined
  #network: Interval[] | undefined

  constructor(arrivedAtMs: number) {
    this.arrivedAtMs = arrivedAtMs
    this.startedAtMs = arrivedAtMs
  }

  /** A call of this request's is over. */
  addCall({ sentAtMs, dependencyMs, connectMs, networkMs }: CallTimeline): void {
    if (++this.calls > MOST_CALLS) return
    this.#dependency ??= []
    const hadItUntilMs = sentAtMs + dependencyMs.best
    this.#dependency.push({ fromMs: sentAtMs, toMs: hadItUntilMs })
    if (networkMs === 0) return
    this.#network ??= []
    this.#network.push({ fromMs: sentAtMs - connectMs, toMs: sentAtMs })
    this.#network.push({ fromMs: hadItUntilMs, toMs: hadItUntilMs + networkMs - connectMs })
  }

  /** It ended at `endedAtMs`; `stalls` are those around its time, one still on ending there. */
  figures(endedAtMs: number, stalls: Intervals): RequestFigures {
    if (stalls.length === 0 && this.#dependency === undefined) return this.#plainFigures(endedAtMs)
    return this.generalFigures(endedAtMs, stalls)
  }

  /** Most requests make no call and meet no stall; for them a few subtractions come to the same. */
  #plainFigures(endedAtMs: number): RequestFigures {
    const { arrivedAtMs, lateMs } = this
    const totalMs = Math.max(0, endedAtMs - arrivedAtMs)
    const startedAtMs = Math.min(Math.max(this.startedAtMs, arrivedAtMs), endedAtMs)
    // The handler's first stretch ends here.
    const freeAtMs = Math.min(Math.max(orElse(this.returnedAtMs, startedAtMs), startedAtMs), endedAtMs)
    const receivedAtMs = Math.min(Math.max(orElse(this.receivedAtMs, freeAtMs), freeAtMs), endedAtMs)
    const sendingAtMs = Math.min(Math.max(orElse(this.answeredAtMs, endedAtMs), freeAtMs), endedAtMs)
    const networkMs = receivedAtMs - freeAtMs + endedAtMs - Math.max(sendingAtMs, receivedAtMs)
    const queuedMs = startedAtMs - arrivedAtMs
    const ownMs = Math.max(0, totalMs - queuedMs - networkMs)
    return summary(totalMs, queuedMs, 0, 0, networkMs, ownMs, lateMs, this.calls)
  }

  /** {@link figures} for whatever happened. */
  generalFigures(endedAtMs: number, stalls: Intervals): RequestFigures {
    const { arrivedAtMs, lateMs } = this
    const totalMs = Math.max(0, endedAtMs - arrivedAtMs)
    const startedAtMs = Math.min(Math.max(this.startedAtMs, arrivedAtMs), endedAtMs)
    const queue: Intervals = interval(arrivedAtMs, startedAtMs)
    let dependency: Intervals = NEVER
    let network: Intervals = NEVER
    let claimed: Intervals = NEVER
    if (this.#dependency !== undefined) {
      dependency = within(union(this.#dependency), startedAtMs, endedAtMs)
      if (this.#network !== undefined) {
        network = subtract(within(union(this.#network), startedAtMs, endedAtMs), dependency)
        claimed = union([...dependency, ...network])
      } else claimed = dependency
    }
    // The handler's first stretch is its own work, even when it is so long that it is a stall for everybody.
    const stretch = subtract(
      interval(startedAtMs, Math.min(orElse(this.returnedAtMs, startedAtMs), endedAtMs)),
      claimed,
    )
    if (stretch.length > 0) claimed = union([...claimed, ...stretch])
    const stalled = stalls.length === 0 ? NEVER : subtract(within(stalls, arrivedAtMs, endedAtMs), claimed)
    if (stalled.length > 0) claimed = union([...claimed, ...stalled])
    const receiving = interval(startedAtMs, Math.min(orElse(this.receivedAtMs, startedAtMs), endedAtMs))
    const sending = interval(Math.max(orElse(this.answeredAtMs, endedAtMs), startedAtMs), endedAtMs)
    const crossing = subtract(union([...receiving, ...sending]), claimed)
    const queuedMs = lengthMs(subtract(queue, claimed))
    const stalledMs = lengthMs(stalled)
    const dependencyMs = lengthMs(dependency)
    const networkMs = lengthMs(network) + lengthMs(crossing)
    const ownMs = Math.max(0, totalMs - queuedMs - stalledMs - dependencyMs - networkMs)
    return summary(totalMs, queuedMs, stalledMs, dependencyMs, networkMs, ownMs, lateMs, this.calls)
  }
}

function summary(
  totalMs: number,
  queuedMs: number,
  stalledMs: number,
  dependencyMs: number,
  networkMs: number,
  ownMs: number,
  lateMs: number,
  calls: number,
): RequestFigures {
  const shares = { loopMs: stalledMs + lateMs, dependencyMs, networkMs, selfMs: queuedMs + ownMs }
  const verdict = verdictOf(shares)
  return { totalMs, queuedMs, stalledMs, dependencyMs, networkMs, ownMs, lateMs, calls, shares, verdict }
}

/** How long a request parsed at `atMs` may have lain in its socket, given the stalls before it. */
export function latenessMs(stalls: Intervals, atMs: number): number {
  return atMs - stallBefore(stalls, atMs)
}

function interval(fromMs: number, toMs: number): Intervals {
  return toMs > fromMs ? [{ fromMs, toMs }] : NEVER
}

function orElse(value: number, otherwise: number): number {
  return Number.isNaN(value) ? otherwise : value
}
