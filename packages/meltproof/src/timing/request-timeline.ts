/**
 * Computes where the time of one request went, at its end. Pure.
 *
 * Each moment between the parsed head and the end of the answer is assigned to the first of these that applies: a
 * dependency that worked on a call, the network that carried a call, the handler's synchronous start (until it first
 * returns to the loop), a stall of the loop, a pool without a free connection, a body or an answer on its way from or
 * to the client, the queue at the gate, the handler.
 */
import type { Interval, OpenCall, RequestOutcome, RequestRecord, Scope, Shares, Verdict } from '../record.ts'
import type { CallTimeline } from './call-timeline.ts'
import { type Intervals, lengthMs, NEVER, union, within } from './intervals.ts'
import { verdictOf } from './verdict.ts'

/** Maximum calls of one request; the time of further ones counts as the handler's. */
const MOST_CALLS = 256

/** The times noted while a request is recorded. */
export class RequestTimes implements Scope {
  readonly arrivedAtMs: number
  readonly startedAtMs: number
  readonly lateMs: number
  /** When the handler first returned to the loop; NaN before. */
  returnedAtMs: number = Number.NaN
  /** When the request's body was complete; NaN before, and if it arrived with the head. */
  receivedAtMs: number = Number.NaN
  /** When the handler had passed its whole answer to Node; NaN before. */
  answeredAtMs: number = Number.NaN
  openCalls: Set<OpenCall> | undefined = undefined
  calls: CallTimes | undefined = undefined
  ended = false
  /** Bytes, as counted by body-bytes.ts; -1 before the response has a connection. */
  byteCount = -1

  constructor(arrivedAtMs: number, startedAtMs: number = arrivedAtMs, lateMs: number = 0) {
    this.arrivedAtMs = arrivedAtMs
    this.startedAtMs = startedAtMs
    this.lateMs = lateMs
  }

  /** Calls that end after their request do not belong to it. */
  addCall(call: CallTimeline): void {
    if (this.ended) return
    this.calls ??= new CallTimes()
    this.calls.add(call)
  }
}

class CallTimes {
  count = 0
  readonly dependency: Interval[] = []
  readonly network: Interval[] = []
  readonly pool: Interval[] = []

  add(call: CallTimeline): void {
    if (++this.count > MOST_CALLS) return
    const { startedAtMs, turnAtMs, sentAtMs, dependencyMs, connectMs, shares } = call
    if (turnAtMs > startedAtMs) this.pool.push({ fromMs: startedAtMs, toMs: turnAtMs })
    const hadItUntilMs = sentAtMs + dependencyMs.best
    this.dependency.push({ fromMs: sentAtMs, toMs: hadItUntilMs })
    if (shares.networkMs === 0) return
    this.network.push({ fromMs: sentAtMs - connectMs, toMs: sentAtMs })
    this.network.push({ fromMs: hadItUntilMs, toMs: hadItUntilMs + shares.networkMs - connectMs })
  }
}

/** The record of a request. If no subscriber keeps it, the next request reuses the object, to save an allocation. */
export class RequestTimeline implements RequestRecord {
  method = ''
  url = ''
  route: string | undefined = undefined
  status = 0
  outcome: RequestOutcome = 'answered'
  bytes: number | undefined = undefined
  arrivedAtMs = 0
  totalMs = 0
  queuedMs = 0
  stalledMs = 0
  dependencyMs = 0
  poolMs = 0
  networkMs = 0
  ownMs = 0
  lateMs = 0
  calls = 0
  readonly shares: { -readonly [K in keyof Shares]: Shares[K] } = {
    loopMs: 0,
    dependencyMs: 0,
    networkMs: 0,
    selfMs: 0,
  }
  verdict: Verdict = 'self'

  /** Writes the record of a request that ended at `endedAtMs`. A stall in progress in `stalls` ends then, too. */
  write(times: RequestTimes, endedAtMs: number, stalls: Intervals): void {
    times.ended = true
    this.arrivedAtMs = times.arrivedAtMs
    this.lateMs = times.lateMs
    this.calls = times.calls?.count ?? 0
    if (stalls.length === 0 && times.calls === undefined) this.#takePlain(times, endedAtMs)
    else this.takeApart(times, endedAtMs, stalls)
    const { queuedMs, stalledMs, dependencyMs, networkMs, lateMs, shares } = this
    this.totalMs = Math.max(0, endedAtMs - times.arrivedAtMs)
    this.ownMs = Math.max(0, this.totalMs - queuedMs - stalledMs - dependencyMs - networkMs)
    shares.loopMs = stalledMs + lateMs
    shares.dependencyMs = dependencyMs
    shares.networkMs = networkMs
    shares.selfMs = queuedMs + this.ownMs
    this.verdict = verdictOf(shares)
  }

  /** Most requests make no call and meet no stall; for them a few subtractions give the same result. */
  #takePlain(times: RequestTimes, endedAtMs: number): void {
    const startedAtMs = Math.min(Math.max(times.startedAtMs, times.arrivedAtMs), endedAtMs)
    const freeAtMs = Math.min(Math.max(orElse(times.returnedAtMs, startedAtMs), startedAtMs), endedAtMs)
    const receivedAtMs = Math.min(Math.max(orElse(times.receivedAtMs, freeAtMs), freeAtMs), endedAtMs)
    const sendingAtMs = Math.min(Math.max(orElse(times.answeredAtMs, endedAtMs), freeAtMs), endedAtMs)
    this.queuedMs = startedAtMs - times.arrivedAtMs
    this.stalledMs = 0
    this.dependencyMs = 0
    this.poolMs = 0
    this.networkMs = receivedAtMs - freeAtMs + endedAtMs - Math.max(sendingAtMs, receivedAtMs)
  }

  /** The general case: each part gets the time that the parts before it have left over. */
  takeApart(times: RequestTimes, endedAtMs: number, stalls: Intervals): void {
    const { arrivedAtMs, calls } = times
    const startedAtMs = Math.min(Math.max(times.startedAtMs, arrivedAtMs), endedAtMs)
    const until = (atMs: number): Intervals => interval(startedAtMs, Math.min(orElse(atMs, startedAtMs), endedAtMs))
    let taken: Intervals = NEVER
    let takenMs = 0
    const take = (wanted: readonly Interval[]): number => {
      if (wanted.length === 0) return 0
      const beforeMs = takenMs
      taken = union([...taken, ...within(wanted, arrivedAtMs, endedAtMs)])
      takenMs = Math.max(beforeMs, lengthMs(taken))
      return takenMs - beforeMs
    }
    const sending = interval(Math.max(orElse(times.answeredAtMs, endedAtMs), startedAtMs), endedAtMs)
    const takeCalls = (part: readonly Interval[] = NEVER): number => take(within(part, startedAtMs, endedAtMs))
    const calledMs = takeCalls(calls?.dependency)
    const callsNetworkMs = takeCalls(calls?.network)
    // The handler's synchronous start is its own work, even if it is long enough to stall all others.
    take(until(times.returnedAtMs))
    this.stalledMs = take(stalls)
    this.poolMs = takeCalls(calls?.pool)
    this.dependencyMs = calledMs + this.poolMs
    this.networkMs = callsNetworkMs + take([...until(times.receivedAtMs), ...sending])
    this.queuedMs = take(interval(arrivedAtMs, startedAtMs))
  }
}

function interval(fromMs: number, toMs: number): Intervals {
  return toMs > fromMs ? [{ fromMs, toMs }] : NEVER
}

function orElse(value: number, otherwise: number): number {
  return Number.isNaN(value) ? otherwise : value
}
