/**
 * A budget: the time left for a piece of work, and the signal that ends it. Budgets nest and only shrink: when one
 * ends, all budgets inside it end.
 */
import { now } from '../clock.ts'
import { stalledBetween } from '../signals/loop-stalls.ts'
import { DeadlineExceededError, type DeadlineFacts } from './deadline-error.ts'
import { type FairTimer, startFairTimer } from './fair-timer.ts'

export interface BudgetOptions {
  readonly parent?: Budget | undefined
  /** True if another process, such as a client, also enforces the deadline: stalls do not extend it. @default false */
  readonly hard?: boolean
  readonly phase?: DeadlineFacts['phase']
  readonly what?: string | undefined
  /** Work that continues after the end of the budget counts as over after this time, ms. @default Infinity */
  readonly graceMs?: number
  /** Called when the time is up. A result of false removes the limit, because the answer has begun and is streamed. */
  readonly onExpired?: () => boolean
}

export type EndListener = (reason: Error) => void

export class Budget {
  readonly startMs: number
  /** The time of the budget from its start, ms; never more than its parent had left. Infinity for no limit. */
  limitMs: number = Number.POSITIVE_INFINITY
  /** The limit without the parent, ms. */
  readonly #ownMs: number
  readonly #isHard: boolean
  /** True if the limit is that of the parent, whose timer is shared. */
  #inherits = false
  #hardDeadlineMs = Number.POSITIVE_INFINITY
  #parent: Budget | undefined
  /** The budgets inside this one that share its timer. */
  #inheritors: Set<Budget> | undefined
  readonly #phase: DeadlineFacts['phase']
  readonly #what: string | undefined
  readonly #graceMs: number
  #endedAtMs = 0
  /** Cleared at the end, because async contexts keep a budget until a connection that was opened in it has ended. */
  #onExpired: BudgetOptions['onExpired']
  #timer: FairTimer | undefined
  #watching = false
  #settled = false
  #lifted = false
  reason: Error | undefined
  #controller: AbortController | undefined
  #listeners: EndListener | Set<EndListener> | undefined
  #parentEnded: EndListener | undefined

  constructor(limitMs: number, options: BudgetOptions = {}) {
    const { parent, hard = false, phase = 'work', what, graceMs = Number.POSITIVE_INFINITY, onExpired } = options
    this.#phase = phase
    this.#what = what
    this.#graceMs = graceMs
    this.#onExpired = onExpired
    this.startMs = now()
    this.#ownMs = limitMs
    this.#isHard = hard
    this.#limitWithin(parent, this.startMs)
  }

  #limitWithin(parent: Budget | undefined, nowMs: number): void {
    this.#parent = parent
    const aroundMs = parent === undefined ? Number.POSITIVE_INFINITY : nowMs - this.startMs + parent.remainingMs()
    this.limitMs = Math.min(this.#ownMs, aroundMs)
    this.#inherits = aroundMs <= this.#ownMs
    const ownHardMs = this.#isHard ? this.startMs + this.limitMs : Number.POSITIVE_INFINITY
    this.#hardDeadlineMs = Math.min(ownHardMs, parent === undefined ? ownHardMs : parent.#hardUntilMs)
  }

  /** Milliseconds left, extended by stalls; 0 when it has ended, Infinity without a limit. */
  remainingMs(): number {
    if (this.reason !== undefined) return 0
    if (this.#lifted) return this.#parent?.remainingMs() ?? Number.POSITIVE_INFINITY
    const nowMs = now()
    const elapsedMs = nowMs - this.startMs
    const leftMs = this.limitMs - elapsedMs
    if (this.#hardDeadlineMs === this.startMs + this.limitMs || leftMs === Number.POSITIVE_INFINITY) {
      return Math.max(0, Math.min(leftMs, this.#hardDeadlineMs - nowMs))
    }
    const creditMs = Math.min(elapsedMs, stalledBetween(this.startMs, nowMs))
    return Math.max(0, Math.min(leftMs + creditMs, this.#hardDeadlineMs - nowMs, this.limitMs))
  }

  /**
   * Aborts with the reason when the budget ends. Created at the first access, because most work never needs it. Its
   * listeners run without an async context, because keeping one costs more than the rest of a budget (1.4 KB).
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.reason !== undefined) this.#controller.abort(this.reason)
      else this.watch()
    }
    return this.#controller.signal
  }

  get #hardUntilMs(): number {
    if (!this.#lifted) return this.#hardDeadlineMs
    return this.#parent === undefined ? Number.POSITIVE_INFINITY : this.#parent.#hardUntilMs
  }

  /** Starts the timer, so that the budget ends by itself. May be called repeatedly. */
  watch(): void {
    if (this.#watching || this.#settled || this.reason !== undefined) return
    this.#watching = true
    if (this.#parent !== undefined) {
      this.#parentEnded = reason => this.#endWithParent(reason)
      this.#parent.onEnd(this.#parentEnded)
    }
    if (this.reason !== undefined) return
    if (this.#inherits && this.#parent !== undefined) {
      this.#parent.#inheritors ??= new Set()
      this.#parent.#inheritors.add(this)
      return
    }
    const nowMs = now()
    const leftMs = this.startMs + this.limitMs - nowMs
    this.#timer = startFairTimer(leftMs, () => this.#expire(), {
      creditCapMs: Math.max(0, this.#hardUntilMs - nowMs - leftMs),
    })
  }

  /** Calls `listener` once when the budget ends, or now if it has ended. Starts the timer. */
  onEnd(listener: EndListener): void {
    if (this.reason !== undefined) {
      listener(this.reason)
      return
    }
    if (this.#settled) return
    if (this.#listeners === undefined) this.#listeners = listener
    else if (typeof this.#listeners === 'function') this.#listeners = new Set([this.#listeners, listener])
    else this.#listeners.add(listener)
    this.watch()
  }

  offEnd(listener: EndListener): void {
    if (this.#listeners === listener) this.#listeners = undefined
    else if (typeof this.#listeners === 'object') this.#listeners.delete(listener)
  }

  /** Ends the budget as if its time were up. */
  expire(): void {
    this.cancel(this.#exceeded())
  }

  cancel(reason: Error): void {
    if (this.reason !== undefined || this.#settled) return
    this.reason = reason
    this.#endedAtMs = now()
    this.#unwatch()
    const listeners = this.#listeners
    this.#listeners = undefined
    this.#controller?.abort(reason)
    if (typeof listeners === 'function') listeners(reason)
    else for (const listener of listeners ?? []) listener(reason)
  }

  /**
   * True once the work has ended, or `graceMs` after the budget has ended. An interval or a shared batch that the work
   * has started is separate work, which this budget no longer limits.
   */
  get isOver(): boolean {
    return this.#settled || (this.reason !== undefined && now() - this.#endedAtMs >= this.#graceMs)
  }

  /** This budget, or the nearest one around it that is not over. */
  get lasting(): Budget | undefined {
    return this.isOver ? this.#parent?.lasting : this
  }

  /** Called when the work has ended: from then on nothing is aborted. May be called repeatedly. */
  settle(): void {
    if (this.#settled) return
    this.#settled = true
    this.#lifted = true
    this.#unwatch()
    this.#listeners = undefined
    this.#freeInheritors()
  }

  #unwatch(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#onExpired = undefined
    this.#leaveParent()
  }

  #leaveParent(): void {
    if (this.#parentEnded !== undefined) this.#parent?.offEnd(this.#parentEnded)
    this.#parentEnded = undefined
    if (this.#parent !== undefined) this.#parent.#inheritors?.delete(this)
  }

  /** The limit of this budget is gone, and its timer with it: the budgets inside get their own limits. */
  #freeInheritors(): void {
    const inheritors = this.#inheritors
    this.#inheritors = undefined
    for (const budget of inheritors ?? []) budget.#limitAgain()
  }

  #limitAgain(): void {
    this.#leaveParent()
    this.#limitWithin(this.#parent?.lasting, now())
    this.#watching = false
    this.watch()
  }

  #endWithParent(reason: Error): void {
    const own = this.#inherits && reason instanceof DeadlineExceededError
    this.cancel(own ? this.#exceeded({ cause: reason }) : reason)
  }

  #expire(): void {
    if (this.#onExpired?.() === false) {
      this.#lifted = true
      this.#freeInheritors()
    } else this.expire()
  }

  #exceeded(options?: ErrorOptions): DeadlineExceededError {
    const nowMs = now()
    const ownStallMs = stalledBetween(this.startMs, nowMs)
    const waitedMs = nowMs - this.startMs
    const facts = { phase: this.#phase, limitMs: this.limitMs, waitedMs, ownStallMs, what: this.#what }
    return new DeadlineExceededError(facts, options)
  }
}
