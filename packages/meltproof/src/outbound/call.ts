/**
 * One bounded call while it runs: its place in the bulkhead, its timer, the budget of the request it is made for. It
 * knows no client; its carrier reports what happens, and ends it when a limit passes.
 */
import { now } from '../clock.ts'
import type { Budget, EndListener } from '../deadline/budget.ts'
import { currentBudget } from '../deadline/context.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import { MeltproofError } from '../errors.ts'
import { lainSince, stalledBetween } from '../signals/loop-stalls.ts'
import { Bulkhead } from './bulkhead.ts'
import { type CallPhase, CallPhases, type CallProgress } from './call-phases.ts'
import { type Headers, isEventStream } from './event-stream.ts'
import type { CallLimits, Fields, LimitTable } from './limits.ts'

const NO_CREDIT = { creditCapMs: 0 } as const

export interface Carrier {
  /** Ends the call with this error, as its client expects errors. Called once at most. */
  fail(error: Error): void
  progress(): CallProgress
}

/** What all calls of one `install()` or `bound()` share. */
export class Bounds {
  readonly limits: LimitTable
  readonly bulkhead: Bulkhead = new Bulkhead()
  /** False once the bounds are taken off: the calls in flight go on without them. */
  active = true
  #failed = false
  readonly #onFailure: (error: unknown) => void
  #onFirst: (() => void) | undefined

  /** `onFirst` is called at the first call that is bounded. */
  constructor(limits: LimitTable, onFailure: (error: unknown) => void, onFirst?: () => void) {
    this.limits = limits
    this.#onFailure = onFailure
    this.#onFirst = onFirst
  }

  /** Runs work of ours inside somebody else's call: what it throws fails no call, and is told once. */
  guarded<R>(work: () => R): R | undefined {
    try {
      return work()
    } catch (error) {
      const first = !this.#failed
      this.#failed = true
      if (first) this.#onFailure(error)
      return undefined
    }
  }

  /** Undefined when its origin is left alone; an error when the call must not start. */
  begin(origin: string, carrier: Carrier): BoundedCall | Error | undefined {
    const limits = this.limits.of(origin)
    if (limits === false) return undefined
    const tell = this.#onFirst
    this.#onFirst = undefined
    tell?.()
    const budget = currentBudget()
    if (budget !== undefined && budget.remainingMs() <= 0) {
      return new DeadlineExceededError(
        { phase: 'refused', limitMs: 0, waitedMs: 0, ownStallMs: 0, bytesSeen: 0, what: `the call to ${origin}` },
        { cause: budget.reason },
      )
    }
    if (!this.bulkhead.enter(origin, limits.maxInFlight)) {
      return new MeltproofError(
        'MELTPROOF_OUTBOUND_FULL',
        `The call to ${origin} was not started: ${limits.maxInFlight} calls to it are in flight, the most it may have ` +
          '(maxInFlight). It answers slower than it is called; call it less, or raise the limit.',
      )
    }
    return new BoundedCall(this, origin, limits, carrier, budget)
  }
}

export class BoundedCall {
  readonly #bounds: Bounds
  readonly #origin: string
  readonly #carrier: Carrier
  readonly #budget: Budget | undefined
  readonly #limits: CallLimits
  readonly #startMs: number
  readonly #phases: CallPhases
  #timer: FairTimer | undefined
  /** When the timer fires unless there are stalls to give back. */
  #dueMs: number
  #onBudgetEnd: EndListener | undefined
  #ended = false

  constructor(bounds: Bounds, origin: string, limits: CallLimits, carrier: Carrier, budget: Budget | undefined) {
    this.#bounds = bounds
    this.#origin = origin
    this.#limits = limits
    this.#carrier = carrier
    this.#budget = budget
    const startMs = now()
    this.#startMs = startMs
    this.#phases = new CallPhases(limits, startMs)
    this.#dueMs = this.#phases.nextMs()
    this.#timer = this.#startTimer(this.#dueMs - startMs)
    if (budget !== undefined) {
      this.#onBudgetEnd = reason => this.#budgetEnded(reason)
      budget.onEnd(this.#onBudgetEnd)
    }
  }

  /** Header fields that tell the other side how long we wait. */
  deadlineFields(): Fields {
    const { totalMs } = this.#limits
    const budgetMs = this.#budget?.remainingMs() ?? Number.POSITIVE_INFINITY
    return this.#bounds.limits.deadlineFields(this.#origin, totalMs === false ? budgetMs : Math.min(totalMs, budgetMs))
  }

  get ended(): boolean {
    return this.#ended
  }

  connected(): void {
    this.#bounds.guarded(() => {
      this.#phases.connected(now())
      this.#hurry()
    })
  }

  // These only assign, and are not guarded.
  sent(): void {
    this.#phases.sent(now())
  }

  chunk(bytes: number): void {
    this.#phases.chunk(now(), bytes)
  }

  paused(): void {
    this.#phases.paused()
  }

  head(headers: Headers): void {
    this.#bounds.guarded(() => {
      const nowMs = now()
      this.#phases.head(nowMs, isEventStream(headers), lainSince(nowMs))
      this.#hurry()
    })
  }

  /** The call is over, well or badly. Any number of times. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#bounds.guarded(() => {
      this.#timer?.cancel()
      this.#timer = undefined
      if (this.#onBudgetEnd !== undefined) this.#budget?.offEnd(this.#onBudgetEnd)
      this.#bounds.bulkhead.leave(this.#origin)
    })
  }

  /** Moves the timer when a limit falls due before it fires. */
  #hurry(): void {
    const nextMs = this.#phases.nextMs()
    if (this.#ended || nextMs >= this.#dueMs) return
    this.#timer?.cancel()
    this.#wait(nextMs - now())
  }

  #wait(ms: number): void {
    this.#dueMs = now() + ms
    this.#timer = this.#startTimer(ms)
  }

  /** Without credit for stalls, which is for the phases to give; it polls twice before it asks them. */
  #startTimer(ms: number): FairTimer {
    return startFairTimer(ms, () => this.#due(), NO_CREDIT)
  }

  #due(): void {
    if (this.#ended) return
    const verdict = this.#phases.check(now(), stalledBetween, this.#carrier.progress())
    if (verdict.expired === undefined) this.#wait(verdict.inMs)
    else this.#giveUp(this.#exceeded(verdict.expired, verdict.limitMs))
  }

  #budgetEnded(reason: Error): void {
    const ranOut = reason instanceof DeadlineExceededError // of everything the request did, so all stalls count
    this.#giveUp(ranOut ? this.#exceeded('total', reason.limitMs, reason) : reason)
  }

  #exceeded(phase: CallPhase, limitMs: number, cause?: Error): Error {
    const nowMs = now()
    return new DeadlineExceededError(
      {
        phase,
        limitMs,
        waitedMs: nowMs - this.#startMs,
        ownStallMs: stalledBetween(this.#startMs, nowMs),
        ...(cause === undefined ? { heldUpMs: this.#phases.heldUpMs(nowMs, stalledBetween) } : {}),
        bytesSeen: this.#phases.bytesSeen,
        what: `the call to ${this.#origin}`,
      },
      cause === undefined ? undefined : { cause },
    )
  }

  #giveUp(error: Error): void {
    if (this.#ended) return
    this.end()
    if (this.#bounds.active) this.#carrier.fail(error)
  }
}
