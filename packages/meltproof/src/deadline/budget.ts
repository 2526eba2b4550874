/**
 * A budget: how much time is left for a piece of work, and the signal that ends it. Budgets nest and only shrink: none
 * outlives the one it was opened in, and ending the outer one ends all within.
 *
 * The signal is made when somebody first asks for it; most work never does.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { now } from '../clock.ts'
import { stalledBetween } from '../signals/loop-stalls.ts'
import { DeadlineExceededError, type DeadlineFacts } from './deadline-error.ts'
import { type FairTimer, startFairTimer } from './fair-timer.ts'

export interface BudgetOptions {
  /** The budget this one is opened in. */
  readonly parent?: Budget | undefined
  /**
   * True for a deadline that somebody outside keeps too (a client waits so long and no longer): own stalls are not
   * given back.
   * @default false
   */
  readonly hard?: boolean
  /** For the error: what the work is, as {@link DeadlineFacts}. */
  readonly phase?: DeadlineFacts['phase']
  readonly what?: string
}

/** Called when a budget has ended early or has run out, with the reason. */
export type EndListener = (reason: Error) => void

export class Budget {
  readonly startMs: number
  /** What it was given at the start, ms; never more than its parent had left. Infinity: only its parents' limits. */
  readonly limitMs: number
  readonly #hardDeadlineMs: number
  readonly #parent: Budget | undefined
  readonly #phase: DeadlineFacts['phase']
  readonly #what: string | undefined
  #timer: FairTimer | undefined
  #watching = false
  #settled = false
  #reason: Error | undefined
  #controller: AbortController | undefined
  /** Abort listeners run in the async context in which the signal was asked for, not in that of a shared timer. */
  #inContext: ((abort: () => void) => void) | undefined
  #listeners: Set<EndListener> | undefined

  constructor(limitMs: number, options: BudgetOptions = {}) {
    const { parent, hard = false, phase = 'work', what } = options
    this.startMs = now()
    this.#parent = parent
    this.limitMs = Math.min(limitMs, parent === undefined ? limitMs : parent.remainingMs())
    const ownHardMs = hard ? this.startMs + this.limitMs : Number.POSITIVE_INFINITY
    this.#hardDeadlineMs = Math.min(ownHardMs, parent === undefined ? ownHardMs : parent.#hardDeadlineMs)
    this.#phase = phase
    this.#what = what
  }

  /** Milliseconds left; 0 when it has run out or was cancelled, Infinity without a limit. Own stalls are given back. */
  remainingMs(): number {
    if (this.#reason !== undefined) return 0
    const nowMs = now()
    const elapsedMs = nowMs - this.startMs
    const leftMs = this.limitMs - elapsedMs
    if (this.#hardDeadlineMs === this.startMs + this.limitMs || leftMs === Number.POSITIVE_INFINITY) {
      return Math.max(0, Math.min(leftMs, this.#hardDeadlineMs - nowMs))
    }
    const creditMs = Math.min(elapsedMs, stalledBetween(this.startMs, nowMs))
    return Math.max(0, Math.min(leftMs + creditMs, this.#hardDeadlineMs - nowMs, this.limitMs))
  }

  /** Aborts with the reason when the budget runs out or is cancelled. Made when first asked for. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      this.#inContext = AsyncLocalStorage.snapshot()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
      else this.watch()
    }
    return this.#controller.signal
  }

  /** Why it ended, if it has run out or was cancelled. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** How late after its limit a fair timer within this budget may give its verdict at the most, ms. */
  creditCapMs(limitMs: number): number {
    return Math.max(0, this.#hardDeadlineMs - now() - limitMs)
  }

  /** Has the clock watched, and the parent, so that the budget ends by itself. Any number of times. */
  watch(): void {
    if (this.#watching || this.#settled || this.#reason !== undefined) return
    this.#watching = true
    this.#parent?.onEnd(this.#parentEnded)
    if (this.#reason !== undefined) return
    const startedAgoMs = now() - this.startMs
    this.#timer = startFairTimer(this.limitMs - startedAgoMs, this.#expired, {
      creditCapMs: this.creditCapMs(this.limitMs - startedAgoMs),
    })
  }

  /** Tells `listener` once when the budget ends; at once when it has. Watches from now on. */
  onEnd(listener: EndListener): void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return
    }
    if (this.#settled) return
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    this.watch()
  }

  offEnd(listener: EndListener): void {
    this.#listeners?.delete(listener)
  }

  /** Ends the work before its time: nobody waits for it any more. */
  cancel(reason: Error): void {
    if (this.#reason !== undefined || this.#settled) return
    this.#reason = reason
    this.#unwatch()
    const listeners = this.#listeners
    this.#listeners = undefined
    const controller = this.#controller
    if (controller !== undefined) this.#inContext?.(() => controller.abort(reason))
    for (const listener of listeners ?? []) listener(reason)
  }

  /** The work is done: nothing aborts any more, nothing is held. Any number of times. */
  settle(): void {
    if (this.#settled) return
    this.#settled = true
    this.#unwatch()
    this.#listeners = undefined
  }

  #unwatch(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#parent?.offEnd(this.#parentEnded)
  }

  readonly #parentEnded = (reason: Error): void => this.cancel(reason)

  readonly #expired = (): void => {
    const nowMs = now()
    this.cancel(
      new DeadlineExceededError({
        phase: this.#phase,
        limitMs: this.limitMs,
        waitedMs: nowMs - this.startMs,
        ownStallMs: stalledBetween(this.startMs, nowMs),
        ...(this.#what === undefined ? {} : { what: this.#what }),
      }),
    )
  }
}
