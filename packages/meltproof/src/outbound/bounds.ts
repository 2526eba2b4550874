/** The limits of calls at work: what the calls of one `install()` or `bound()` share, and the timer of each call. */
import { now } from '../clock.ts'
import type { Budget, EndListener } from '../deadline/budget.ts'
import { currentBudget } from '../deadline/context.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'
import { type FairTimer, startFairTimer } from '../deadline/fair-timer.ts'
import { MeltproofError } from '../errors.ts'
import { lainSince, stalledBetween } from '../signals/loop-stalls.ts'
import { Bulkhead } from './bulkhead.ts'
import { type Fields, type Headers, isEventStream } from './headers.ts'
import type { CallLimits, LimitTable } from './limits.ts'
import { type CallPhase, CallPhases, type CallProgress } from './phases.ts'

const NO_CREDIT = { creditCapMs: 0 } as const

/** What a bounded call runs on: a request of undici or node:http. */
export interface Carrier {
  /** Ends the call with this error, in the way its client reports errors. Called once at most. */
  fail(error: Error): void
  progress(): CallProgress
}

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

  /** Runs our own work inside of a call of the app: what it throws is reported once, and fails no call. */
  guarded<R>(work: () => R): R | undefined {
    try {
      return work()
    } catch (error) {
      this.failed(error)
      return undefined
    }
  }

  failed(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    this.#onFailure(error)
  }

  /** Undefined when the origin is left alone; an error when the call must not start. */
  begin(origin: string, carrier: Carrier): CallLimiter | Error | undefined {
    const limits = this.limits.of(origin)
    if (limits === false || !this.active) return undefined
    this.#onFirst?.()
    this.#onFirst = undefined
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
    return new CallLimiter(this, origin, limits, carrier, budget)
  }
}

let installed: Bounds | undefined

/** The bounds of the whole process, while there are any. */
export function installedBounds(): Bounds | undefined {
  return installed
}

export function setInstalledBounds(bounds: Bounds | undefined): void {
  installed = bounds
}

/** Watches the limits of one call: its place in the bulkhead, its timer, and the budget it is made under. */
export class CallLimiter {
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
    this.#startMs = now()
    this.#phases = new CallPhases(limits, this.#startMs)
    this.#dueMs = this.#phases.nextMs()
    this.#timer = this.#startTimer(this.#dueMs - this.#startMs)
    if (budget !== undefined) {
      this.#onBudgetEnd = reason => this.#budgetEnded(reason)
      budget.onEnd(this.#onBudgetEnd)
    }
  }

  deadlineFields(): Fields {
    const { totalMs } = this.#limits
    const budgetMs = this.#budget?.remainingMs() ?? Number.POSITIVE_INFINITY
    return this.#bounds.limits.deadlineFields(this.#origin, totalMs === false ? budgetMs : Math.min(totalMs, budgetMs))
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

  answered(headers: Headers): void {
    this.#bounds.guarded(() => {
      const nowMs = now()
      this.#phases.head(nowMs, isEventStream(headers), lainSince(nowMs))
      this.#hurry()
    })
  }

  /** Any number of times. */
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

  /** The phases give back stalls, not the timer; but the timer polls twice before it asks them. */
  #startTimer(ms: number): FairTimer {
    return startFairTimer(ms, () => this.#due(), NO_CREDIT)
  }

  #due(): void {
    if (this.#ended) return
    const found = this.#phases.check(now(), stalledBetween, this.#carrier.progress())
    if (found.expired === undefined) this.#wait(found.inMs)
    else this.#giveUp(this.#exceeded(found.expired, found.limitMs))
  }

  #budgetEnded(reason: Error): void {
    const ranOut = reason instanceof DeadlineExceededError // of all that the request did, so all stalls count
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
