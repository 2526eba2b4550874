/** The times noted while a request is recorded. request-timeline.ts computes the record from them. Pure. */
import type { OpenCall, Scope } from '../record.ts'
import type { CallTimeline } from './call-timeline.ts'
import type { Interval } from './intervals.ts'

/** Maximum calls of one request; the time of further ones counts as the handler's. */
const MOST_CALLS = 256

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
