/**
 * Whose time was it: one request, taken apart. Pure; filled in as things happen, read once at the end.
 *
 * Each moment between the parsed head and the end of the answer belongs to exactly one:
 * a dependency that had a call of ours, else the network that carried one, else the handler's own first stretch (what
 * it computes itself before it first gives the loop back), else a stall of the loop, else a body or an answer on its
 * way to or from the client, else the queue at the gate, else the handler.
 */
import type { RequestOutcome, RequestRecord, Shares, Verdict } from '../record.ts'
import { type CallTimeline, stallBefore } from './call-timeline.ts'
import { type Interval, type Intervals, lengthMs, NEVER, subtract, union, within } from './intervals.ts'
import { verdictOf } from './verdict.ts'

/** Calls of one request that are told apart; the time of later ones is the handler's. */
const MOST_CALLS = 256

/** What a timeline is told of a request at once, by request-times.ts. */
export interface TakenTimes {
  readonly arrivedAtMs: number
  readonly startedAtMs: number
  readonly lateMs: number
  readonly returnedAtMs: number
  readonly receivedAtMs: number
  readonly answeredAtMs: number
}

/**
 * The record of a request while it is written. One object up to its subscribers, written anew where nobody keeps it: on a
 * server of short requests every further one, and every number copied into it, is a measurable part of what observing
 * costs.
 */
export class RequestTimeline implements RequestRecord {
  method = ''
  url = ''
  route: string | undefined = undefined
  status = 0
  outcome: RequestOutcome = 'answered'
  bytes: number | undefined = undefined
  arrivedAtMs: number
  totalMs = 0
  queuedMs = 0
  stalledMs = 0
  dependencyMs = 0
  networkMs = 0
  ownMs = 0
  lateMs: number
  calls = 0
  readonly shares: { -readonly [K in keyof Shares]: Shares[K] } = {
    loopMs: 0,
    dependencyMs: 0,
    networkMs: 0,
    selfMs: 0,
  }
  verdict: Verdict = 'self'
  #startedAtMs: number
  #returnedAtMs = Number.NaN
  #receivedAtMs = Number.NaN
  #answeredAtMs = Number.NaN
  #dependency: Interval[] | undefined = undefined
  #network: Interval[] | undefined = undefined
  #ended = false

  /**
   * @param startedAtMs when it left the gate
   * @param lateMs how long it may have lain in its socket before it arrived
   */
  constructor(arrivedAtMs: number, startedAtMs: number = arrivedAtMs, lateMs: number = 0) {
    this.arrivedAtMs = arrivedAtMs
    this.#startedAtMs = startedAtMs
    this.lateMs = lateMs
  }

  /** Those of another request from here on; the calls added before are its. */
  take(times: TakenTimes): void {
    this.arrivedAtMs = times.arrivedAtMs
    this.#startedAtMs = times.startedAtMs
    this.lateMs = times.lateMs
    this.#returnedAtMs = times.returnedAtMs
    this.#receivedAtMs = times.receivedAtMs
    this.#answeredAtMs = times.answeredAtMs
    if (!this.#ended) return
    this.#ended = false
    this.calls = 0
  }

  /** The handler first gave the loop back. */
  returned(atMs: number): void {
    this.#returnedAtMs = atMs
  }

  /** The request's body was complete. Not called when it came with its head. */
  received(atMs: number): void {
    this.#receivedAtMs = atMs
  }

  /** The handler had given its whole answer to Node. */
  answered(atMs: number): void {
    this.#answeredAtMs = atMs
  }

  /** A call of this request's is over. One that outlives its request is not part of it any more. */
  addCall({ sentAtMs, dependencyMs, connectMs, networkMs }: CallTimeline): void {
    if (this.#ended || ++this.calls > MOST_CALLS) return
    this.#dependency ??= []
    const hadItUntilMs = sentAtMs + dependencyMs.best
    this.#dependency.push({ fromMs: sentAtMs, toMs: hadItUntilMs })
    if (networkMs === 0) return
    this.#network ??= []
    this.#network.push({ fromMs: sentAtMs - connectMs, toMs: sentAtMs })
    this.#network.push({ fromMs: hadItUntilMs, toMs: hadItUntilMs + networkMs - connectMs })
  }

  /** It ended at `endedAtMs`: fills in the figures. `stalls` are those around its time, one still on ending there. */
  end(endedAtMs: number, stalls: Intervals): void {
    if (stalls.length === 0 && this.#dependency === undefined) this.#endPlain(endedAtMs)
    else this.endGeneral(endedAtMs, stalls)
  }

  /** Most requests make no call and meet no stall; for them a few subtractions come to the same. */
  #endPlain(endedAtMs: number): void {
    const { arrivedAtMs } = this
    const startedAtMs = Math.min(Math.max(this.#startedAtMs, arrivedAtMs), endedAtMs)
    // The handler's first stretch ends here.
    const freeAtMs = Math.min(Math.max(orElse(this.#returnedAtMs, startedAtMs), startedAtMs), endedAtMs)
    const receivedAtMs = Math.min(Math.max(orElse(this.#receivedAtMs, freeAtMs), freeAtMs), endedAtMs)
    const sendingAtMs = Math.min(Math.max(orElse(this.#answeredAtMs, endedAtMs), freeAtMs), endedAtMs)
    this.queuedMs = startedAtMs - arrivedAtMs
    this.stalledMs = 0
    this.dependencyMs = 0
    this.networkMs = receivedAtMs - freeAtMs + endedAtMs - Math.max(sendingAtMs, receivedAtMs)
    this.#conclude(endedAtMs)
  }

  /** {@link end} for whatever happened. */
  endGeneral(endedAtMs: number, stalls: Intervals): void {
    const { arrivedAtMs } = this
    const startedAtMs = Math.min(Math.max(this.#startedAtMs, arrivedAtMs), endedAtMs)
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
      interval(startedAtMs, Math.min(orElse(this.#returnedAtMs, startedAtMs), endedAtMs)),
      claimed,
    )
    if (stretch.length > 0) claimed = union([...claimed, ...stretch])
    const stalled = stalls.length === 0 ? NEVER : subtract(within(stalls, arrivedAtMs, endedAtMs), claimed)
    if (stalled.length > 0) claimed = union([...claimed, ...stalled])
    const receiving = interval(startedAtMs, Math.min(orElse(this.#receivedAtMs, startedAtMs), endedAtMs))
    const sending = interval(Math.max(orElse(this.#answeredAtMs, endedAtMs), startedAtMs), endedAtMs)
    const crossing = subtract(union([...receiving, ...sending]), claimed)
    this.queuedMs = lengthMs(subtract(queue, claimed))
    this.stalledMs = lengthMs(stalled)
    this.dependencyMs = lengthMs(dependency)
    this.networkMs = lengthMs(network) + lengthMs(crossing)
    this.#conclude(endedAtMs)
  }

  /** What is left is the handler's own; and whose the most was. */
  #conclude(endedAtMs: number): void {
    const { arrivedAtMs, queuedMs, stalledMs, dependencyMs, networkMs, lateMs } = this
    const totalMs = Math.max(0, endedAtMs - arrivedAtMs)
    this.totalMs = totalMs
    const ownMs = Math.max(0, totalMs - queuedMs - stalledMs - dependencyMs - networkMs)
    this.ownMs = ownMs
    this.#ended = true
    this.#dependency = undefined
    this.#network = undefined
    const { shares } = this
    shares.loopMs = stalledMs + lateMs
    shares.dependencyMs = dependencyMs
    shares.networkMs = networkMs
    shares.selfMs = queuedMs + ownMs
    this.verdict = verdictOf(shares)
  }
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
