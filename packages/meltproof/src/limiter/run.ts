/** The work of a limiter: each run waits for a permit, calls its function, and settles for its caller. */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { clearTimeout, setTimeout } from 'node:timers'
import { type Decision, PATIENT_TUNING, PROMPT_TUNING } from '../admission/gate.ts'
import type { ShedReason } from '../admission/sheds.ts'
import { now } from '../clock.ts'
import type { Budget } from '../deadline/budget.ts'
import { currentBudget } from '../deadline/context.ts'
import { showThrown } from '../options.ts'
import { type Memory, processMemory } from '../signals/memory.ts'
import { GatedWork, WorkGate } from '../work-gate.ts'
import { warn } from '../warnings.ts'
import { type CheckedLimiterOptions, type CheckedRun, checkRun, type RunOptions } from './options.ts'
import { ShedError } from './shed-error.ts'

type Settle = (value: unknown) => void

const running = new AsyncLocalStorage<Run>()

class Run extends GatedWork<Run> {
  holdsMemory = false
  readonly answerBy: number
  readonly #work: LimiterWork
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

  constructor(work: LimiterWork, fn: () => unknown, { level, signal }: CheckedRun, resolve: Settle, reject: Settle) {
    super()
    this.#work = work
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
      if (outer.inService && outer.#work === this.#work) return true
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
    this.#work.shed(this, reason)
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
    this.#work.settled(this)
    settle(value)
  }

  #watch(): void {
    const budget = this.#budget
    const signal = this.#signal
    if (budget === undefined && signal === undefined) return
    const giveUp = (reason: unknown): void => {
      this.fail(reason)
      this.#work.givenUp(this)
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

export class LimiterWork {
  readonly gate: WorkGate<Run>
  draining: Promise<boolean> | undefined
  readonly #memory: Memory | undefined
  /** Number of runs that wait or run. */
  #open = 0
  #onIdle: (() => void) | undefined

  constructor({ limit, sheds }: CheckedLimiterOptions) {
    this.#memory = sheds ? processMemory() : undefined
    this.gate = new WorkGate<Run>({
      isOurs: true,
      limit,
      tuning: sheds ? PROMPT_TUNING : PATIENT_TUNING,
      levels: true,
      onFailure: error =>
        warn(
          `a limiter of meltproof failed in process ${process.pid} and has stopped limiting. ${showThrown(error, { stack: true })}`,
        ),
    })
  }

  run<T>(fn: () => T | PromiseLike<T>, options: RunOptions | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const checked = checkRun(fn, options)
      const ended = checked.signal?.aborted ? checked.signal.reason : currentBudget()?.reason
      if (ended !== undefined) throw ended
      const run = new Run(this, fn, checked, resolve as Settle, reject)
      this.#open++
      const decision = this.#decide(run)
      if (decision !== 'start' && decision !== 'wait') {
        this.shed(run, decision)
        return
      }
      run.holdsMemory = true
      this.#memory?.entered(false)
      if (decision === 'start') run.begin()
      else run.wait()
    })
  }

  drain(timeoutMs: number): Promise<boolean> {
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        resolve(false)
        this.gate.close()
      }, timeoutMs).unref()
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve(true)
      }
      if (this.#open === 0) this.#onIdle()
    })
  }

  settled(run: Run): void {
    this.gate.end(run, true)
    this.#ended(run)
  }

  givenUp(run: Run): void {
    if (run.waits) {
      this.gate.leave(run)
      this.#ended(run)
    } else this.gate.giveUp(run)
  }

  shed(run: Run, reason: ShedReason): void {
    const { processGate } = this.gate
    const nowMs = now()
    processGate.countShed(reason, nowMs, reason === 'memory' ? this.#memory?.fullOf(nowMs) : undefined)
    run.fail(new ShedError(processGate.sheds.last!, nowMs - run.arrivedAt))
    this.#ended(run)
  }

  #decide(run: Run): Decision {
    if (run.nested) return 'start'
    const { processGate } = this.gate
    const isShort = this.#memory?.refuses(false, run.arrivedAt)
    const reason = this.draining !== undefined ? 'closing' : isShort ? 'memory' : undefined
    if (reason === undefined || processGate.failOpen.isOpen) return this.gate.ask(run)
    processGate.load.offered(run.arrivedAt)
    return reason
  }

  #ended(run: Run): void {
    this.#open--
    if (run.holdsMemory) this.#memory?.left(false)
    if (this.#open === 0) this.#onIdle?.()
  }
}
