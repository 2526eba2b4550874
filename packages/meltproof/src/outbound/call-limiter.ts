/** Applies the limits of one call: its timer, its place in the bulkhead, and the budget of its caller. */
import { now } from '../clock.ts'
import type { Budget, EndListener } from '../deadline/budget.ts'
import { currentBudget } from '../deadline/context.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import { arrivedNoEarlierThan, stalledBetween } from '../signals/loop-stalls.ts'
import { GatedCall } from './adaptive.ts'
import type { Bounds } from './bounds.ts'
import { type Fields, type Given, type Headers, isGrpc, isGrpcRefusal, isRefusal, isStream } from './headers.ts'
import type { CallLimits } from './limits.ts'
import { codeOf, outcomeOf } from './outcome.ts'
import { type CallPhase, CallPhases, type CallProgress } from './phases.ts'

/** CallPhases extends limits by stalls, so the timer must not. It still lets the loop poll twice before it fires. */
const NO_CREDIT = { creditCapMs: 0 } as const
/** Error codes of a failed connection. Other errors may come from the app, which can end its calls with any error. */
const FAILURES = /^(ECONN|EAI_|EHOST|ENET|ERR_SSL_|(ENOTFOUND|EPIPE|EPROTO|UND_ERR_SOCKET)$)/

export interface Carrier {
  /** Ends the call with this error, reported as its client reports errors. Called at most once. */
  fail(error: Error, queued: boolean): void
  progress(): CallProgress
}

export class CallLimiter {
  readonly #bounds: Bounds
  readonly #origin: string
  readonly #carrier: Carrier
  readonly #budget: Budget | undefined = currentBudget()
  readonly #limits: CallLimits
  readonly #startMs: number = now()
  /**
   * Progress that only postpones limits is reported here, and does not change the timer: if the timer then fires too
   * early, it checks the phases again. The methods only assign, so they need no guard.
   */
  readonly phases: CallPhases
  /** The call at the gate of its origin, if that has a learned limit. */
  readonly gated: GatedCall | undefined
  #timer: FairTimer | undefined
  /** When the timer is due. */
  #dueMs = Number.POSITIVE_INFINITY
  #onBudgetEnd: EndListener | undefined
  #answered = false
  #ended = false

  /** @param routeOf returns method and route; called only if the origin has a learned limit */
  constructor(bounds: Bounds, origin: string, limits: CallLimits, carrier: Carrier, routeOf: () => string) {
    this.#bounds = bounds
    this.#origin = origin
    this.#limits = limits
    this.#carrier = carrier
    this.phases = new CallPhases(limits, this.#startMs)
    this.gated = limits.adaptive ? bounds.guarded(() => this.#askGate(routeOf)) : undefined
    this.#hurry()
    if (this.#budget === undefined) return
    this.#onBudgetEnd = reason => this.#budgetEnded(reason)
    this.#budget.onEnd(this.#onBudgetEnd)
  }

  /** The caller has cancelled the call, which says nothing about the peer. */
  cancelled(): void {
    this.#bounds.guarded(() => this.gated?.cancelled())
  }

  /** True if a request to this origin (the current target, after redirects) carries the deadline. */
  tells(origin: string): boolean {
    return this.#bounds.limits.isTold(origin)
  }

  deadlineFields(given: Given): Fields {
    return this.#bounds.limits.deadlineFields(this.#leftMs(), given)
  }

  connected(): void {
    this.#bounds.guarded(() => {
      this.phases.connected(now())
      this.#hurry()
    })
  }

  chunk(bytes: number): void {
    this.phases.chunk(now(), bytes)
  }

  answered(status: number | undefined, headers: Headers): void {
    this.#bounds.guarded(() => {
      const nowMs = now()
      const streams = isStream(headers)
      this.phases.head(nowMs, streams, arrivedNoEarlierThan(nowMs))
      this.#headCame(status, headers, streams)
      this.#answered = true
      this.#hurry()
    })
  }

  trailers(fields: Headers): void {
    this.#bounds.guarded(() => {
      if (isGrpcRefusal(fields)) this.gated?.decided(true)
    })
  }

  end(error?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#bounds.guarded(() => {
      this.#leaveGate(error)
      this.#timer?.cancel()
      if (this.#onBudgetEnd !== undefined) this.#budget?.offEnd(this.#onBudgetEnd)
      this.#bounds.bulkhead.leave(this.#origin)
    })
  }

  #leftMs(): number {
    const { totalMs } = this.#limits
    const budgetMs = this.#budget?.remainingMs() ?? Number.POSITIVE_INFINITY
    return totalMs === false ? budgetMs : Math.min(budgetMs, totalMs - (now() - this.#startMs))
  }

  #askGate(routeOf: () => string): GatedCall | undefined {
    const origin = this.#bounds.adaptive.of(this.#origin)
    return origin && new GatedCall(origin, routeOf(), this.#leftMs(), error => this.#giveUp(error))
  }

  #headCame(status: number | undefined, headers: Headers, streams: boolean): void {
    const { gated } = this
    if (gated === undefined) return
    if (isRefusal(status, headers)) gated.decided(true)
    // The sender decides when a stream ends, so its head already counts as the result.
    else if (streams && !isGrpc(headers)) gated.decided(false)
    if (streams) gated.answered()
    else gated.headCame()
  }

  #leaveGate(error: unknown): void {
    const { gated } = this
    if (gated === undefined) return
    const outcome = outcomeOf(error)
    const failed = outcome === 'timeout' || (outcome === 'failed' && FAILURES.test(codeOf(error) ?? ''))
    if (outcome === 'answered' && this.#answered) {
      gated.decided(false)
      gated.answered()
    } else if (failed && !this.#answered) gated.failed()
    else gated.cancelled()
  }

  /** Starts an earlier timer if a limit is due before the current one fires. */
  #hurry(): void {
    const nextMs = this.phases.nextMs()
    if (this.#ended || nextMs >= this.#dueMs) return
    this.#timer?.cancel()
    this.#wait(nextMs - now())
  }

  #wait(ms: number): void {
    this.#dueMs = now() + ms
    this.#timer = startFairTimer(ms, () => this.#due(), NO_CREDIT)
  }

  #due(): void {
    if (this.#ended) return
    const found = this.#bounds.guarded(() => this.phases.check(now(), stalledBetween, this.#carrier.progress()))
    if (found === undefined) return // An exception: the limits are removed, and the call continues.
    if (found.expired === undefined) this.#wait(found.inMs)
    else this.#giveUp(this.#exceeded(found.expired, found.limitMs))
  }

  #budgetEnded(reason: Error): void {
    // A budget covers all work: if it ran out, all stalls during this call count, not only those that can delay it.
    const ranOut = reason instanceof DeadlineExceededError
    this.#giveUp(ranOut ? this.#exceeded('total', reason.limitMs, reason) : reason)
  }

  #exceeded(phase: CallPhase, limitMs: number, cause?: Error): Error {
    const nowMs = now()
    const waitedMs = nowMs - this.#startMs
    const ownStallMs = stalledBetween(this.#startMs, nowMs)
    const { bytesSeen } = this.phases
    const facts = { phase, limitMs, waitedMs, ownStallMs, bytesSeen, what: `the call to ${this.#origin}` }
    if (cause !== undefined) return new DeadlineExceededError(facts, { cause })
    return new DeadlineExceededError({ ...facts, heldUpMs: this.phases.heldUpMs(nowMs, stalledBetween) })
  }

  #giveUp(error: Error): void {
    if (this.#ended) return
    const progress = this.#bounds.guarded(() => this.#carrier.progress())
    this.end(error)
    if (progress !== undefined && this.#bounds.active) this.#carrier.fail(error, progress.queued)
  }
}
