import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import type { ShedReason } from '../admission/sheds.ts'
import type { Budget } from '../deadline/budget.ts'
import { currentBudget } from '../deadline/context.ts'
import { Turn } from '../turns.ts'
import type { CheckedRun } from './options.ts'

export interface RunOwner {
  /** The caller no longer waits for the run. */
  givenUp(run: Run): void
  settled(run: Run): void
  /** The run must not be started. */
  shed(run: Run, reason: ShedReason): void
}

export type Settle = (value: unknown) => void

const running = new AsyncLocalStorage<Run>()

export class Run extends Turn<Run> {
  /** True while the run counts among the work that holds memory. */
  holdsMemory = false
  level: number
  /** When the budget ends; Infinity without a budget. */
  readonly answerBy: number
  readonly #owner: RunOwner
  readonly #fn: () => unknown
  readonly #resolve: Settle
  readonly #reject: Settle
  readonly #signal: AbortSignal | undefined
  readonly #budget: Budget | undefined = currentBudget()
  /** The innermost enclosing run that has not settled; keeping settled ones would hold whole chains in memory. */
  #outer: Run | undefined = Run.#unsettled(running.getStore())
  #settled = false
  /** The async context of the caller, while the run waits. */
  #context: AsyncResource | undefined
  #stopWatching: (() => void) | undefined

  constructor(owner: RunOwner, fn: () => unknown, { level, signal }: CheckedRun, resolve: Settle, reject: Settle) {
    super()
    this.#owner = owner
    this.#fn = fn
    this.level = level
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    this.answerBy = this.arrivedAt + (this.#budget?.remainingMs() ?? Number.POSITIVE_INFINITY)
  }

  /** True inside another run of the same limiter that is still in service. */
  get nested(): boolean {
    for (let outer = this.#outer; outer !== undefined; outer = outer.#outer) {
      if (outer.inService && outer.#owner === this.#owner) return true
    }
    return false
  }

  static #unsettled(run: Run | undefined): Run | undefined {
    for (let at = run; at !== undefined; at = at.#outer) if (!at.#settled) return at
    return undefined
  }

  get waits(): boolean {
    return this.#context !== undefined
  }

  wait(): void {
    this.#context = new AsyncResource('meltproof.run')
    this.#watch()
  }

  begin(): void {
    const context = this.#context
    this.#context = undefined
    if (context !== undefined) context.runInAsyncScope(this.#call, this)
    else {
      this.#watch()
      this.#call()
    }
  }

  refuse(reason: ShedReason): void {
    this.#owner.shed(this, reason)
  }

  /** Rejects for the caller; running work continues. */
  fail(reason: unknown): void {
    this.#stopWatching?.()
    this.#reject(reason)
  }

  #call(): void {
    let result: unknown
    try {
      result = running.run(this, this.#fn)
    } catch (error) {
      this.#settle(this.#reject, error)
      return
    }
    if ((typeof result !== 'object' && typeof result !== 'function') || result === null) {
      this.#settle(this.#resolve, result)
      return
    }
    Promise.resolve(result).then(
      value => this.#settle(this.#resolve, value),
      error => this.#settle(this.#reject, error),
    )
  }

  #settle(settle: Settle, value: unknown): void {
    this.#stopWatching?.()
    this.#settled = true
    this.#outer = Run.#unsettled(this.#outer)
    this.#owner.settled(this)
    settle(value)
  }

  #watch(): void {
    const budget = this.#budget
    const signal = this.#signal
    if (budget === undefined && signal === undefined) return
    const giveUp = (reason: unknown): void => {
      this.fail(reason)
      this.#owner.givenUp(this)
      this.#context = undefined
    }
    const aborted = (): void => giveUp(signal!.reason)
    this.#stopWatching = () => {
      this.#stopWatching = undefined
      budget?.offEnd(giveUp)
      signal?.removeEventListener('abort', aborted)
    }
    signal?.addEventListener('abort', aborted, { once: true })
    budget?.onEnd(giveUp)
  }
}
