/** State shared by all calls of one `install()` or `bound()`. `onFirst` is called once, at the first limited call. */
import { currentBudget } from '../deadline/context.ts'
import { DeadlineExceededError } from '../deadline/deadline-error.ts'
import { MeltproofError } from '../errors.ts'
import { quietly } from '../warnings.ts'
import { AdaptiveLimits } from './adaptive.ts'
import { Bulkhead } from './bulkhead.ts'
import type { CallLimits, LimitTable } from './limits.ts'

export class Bounds {
  readonly limits: LimitTable
  readonly bulkhead: Bulkhead = new Bulkhead()
  readonly adaptive: AdaptiveLimits = new AdaptiveLimits(error => this.failed(error))
  /** False once the limits are removed: calls in flight continue without them. */
  active = true
  #failed = false
  readonly #onFailure: (error: unknown) => void
  #onFirst: (() => void) | undefined

  constructor(limits: LimitTable, onFailure: (error: unknown) => void, onFirst?: () => void) {
    this.limits = limits
    this.#onFailure = onFailure
    this.#onFirst = onFirst
  }

  /** Runs meltproof's work inside a call of the app. An exception removes the limits, but does not fail the call. */
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
    quietly(() => this.lift())
    this.#onFailure(error)
  }

  /** Removes the limits. */
  lift(): void {
    this.active = false
    this.adaptive.open()
  }

  /** Returns the limits of a new call, undefined if its origin has none, or an error if the call must not start. */
  enter(origin: string): CallLimits | Error | undefined {
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
    if (this.bulkhead.enter(origin, limits.maxInFlight)) return limits
    return new MeltproofError(
      'MELTPROOF_OUTBOUND_FULL',
      `The call to ${origin} was not started: ${limits.maxInFlight} calls to it are in flight, which is its limit ` +
        '(maxInFlight). The origin answers more slowly than it is called; call it less often, or raise the limit.',
    )
  }
}

/** The limits of install(), while they are in force. */
export const installed: { bounds: Bounds | undefined } = { bounds: undefined }
