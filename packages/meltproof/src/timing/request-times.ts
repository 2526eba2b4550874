/**
 * What is noted of a request while it is under way and somebody observes: a few points in time, and its calls. Small,
 * for every request has one; what becomes of it is written at the end (request-timeline.ts). It is also what the calls of
 * the request know it by, possibly long after it is over. Pure.
 */
import type { Scope } from '../scope.ts'
import type { CallTimeline } from './call-timeline.ts'
import { RequestTimeline } from './request-timeline.ts'

export class RequestTimes implements Scope {
  readonly arrivedAtMs: number
  /** When it left the gate. */
  readonly startedAtMs: number
  /** How long it may have lain in its socket before it arrived. */
  readonly lateMs: number
  /** When the handler first gave the loop back; NaN before. */
  returnedAtMs: number = Number.NaN
  /** When the request's body was complete; NaN before, and where it came with its head. */
  receivedAtMs: number = Number.NaN
  /** When the handler had given its whole answer to Node; NaN before. */
  answeredAtMs: number = Number.NaN
  openCalls = 0
  /** Since its first call. */
  #timeline: RequestTimeline | undefined = undefined
  #ended = false

  constructor(arrivedAtMs: number, startedAtMs: number, lateMs: number) {
    this.arrivedAtMs = arrivedAtMs
    this.startedAtMs = startedAtMs
    this.lateMs = lateMs
  }

  /** A call of this request's is over. One that outlives its request is not part of it any more. */
  addCall(call: CallTimeline): void {
    if (this.#ended) return
    this.#timeline ??= new RequestTimeline(this.arrivedAtMs)
    this.#timeline.addCall(call)
  }

  /** It is over: what was noted goes into the timeline of its calls, or into `otherwise()` where it made none. */
  end(otherwise: () => RequestTimeline): RequestTimeline {
    this.#ended = true
    const timeline = this.#timeline ?? otherwise()
    timeline.take(this)
    return timeline
  }
}
