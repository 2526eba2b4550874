import { clearTimeout, setTimeout } from 'node:timers'
import { type Decision, PATIENT_TUNING, PROMPT_TUNING } from '../admission/gate.ts'
import type { ShedReason } from '../admission/sheds.ts'
import { now } from '../clock.ts'
import { currentBudget } from '../deadline/context.ts'
import { nameLimiter } from '../named-figures.ts'
import { checkNumber, showThrown } from '../options.ts'
import type { GateStats } from '../process-gate.ts'
import { type Memory, processMemory } from '../signals/memory.ts'
import { Turns } from '../turns.ts'
import { warn } from '../warnings.ts'
import {
  checkLimiterOptions,
  type CheckedLimiterOptions,
  checkRun,
  type LimiterOptions,
  type RunOptions,
} from './options.ts'
import { Run, type RunOwner, type Settle } from './run.ts'
import { ShedError } from './shed-error.ts'

export interface LimiterStats extends GateStats {
  /** True once drain() was called. */
  readonly draining: boolean
}

export interface Limiter {
  /**
   * Calls `fn` when there is a permit for it, and settles as `fn` does; then the permit ends. Rejects when the deadline
   * under which it was called passes (docs/limiter.md).
   *
   * @throws ShedError `MELTPROOF_SHED` (as a rejection) when the work is shed: nothing of it was started.
   * @throws MeltproofError (as a rejection) for an unknown or invalid option.
   */
  run<T>(fn: () => T | PromiseLike<T>, options?: RunOptions): Promise<T>
  stats(): LimiterStats
  /** The same number as `stats().pressure`. */
  pressure(): number
  /** Explains why the last shed happened, and what limits concurrency, in sentences for a person. */
  explain(): string
  /**
   * Accepts no new work, and resolves true when all running and waiting work has settled. After `timeoutMs`, by default
   * 10,000, it sheds waiting work and resolves false. Calling it again returns the same promise.
   * @throws MeltproofError for a time that is not a number from 0 to 3,600,000
   */
  drain(timeoutMs?: number): Promise<boolean>
  /** Removes the limit: waiting work starts, and later work starts at once. */
  close(): void
}

const DRAIN_MS = 10_000
const MOST_DRAIN_MS = 3_600_000

/**
 * A limiter for work other than HTTP requests. It learns how much concurrent work still raises throughput, queues the
 * rest, and sheds when the queue does not drain.
 *
 * @example
 * const messages = limiter()
 * socket.on('message', data => messages.run(() => handle(data)).catch(tellOverloaded))
 * @throws MeltproofError for an option that is unknown or out of range
 */
export function limiter(options: LimiterOptions = {}): Limiter {
  const checked = checkLimiterOptions(options)
  const work = new Work(checked)
  const { name } = checked
  const unname = name === undefined ? undefined : nameLimiter(name, () => work.turns.gate.stats())
  return {
    run: (fn, runOptions) => work.run(fn, runOptions),
    stats: () => ({ ...work.turns.gate.stats(), draining: work.draining !== undefined }),
    pressure: () => work.turns.gate.load.pressure(now()),
    explain: () => work.turns.gate.explain('run that was shed'),
    drain: (timeoutMs = DRAIN_MS) => {
      checkNumber('drain(timeoutMs)', timeoutMs, { min: 0, max: MOST_DRAIN_MS, unit: 'milliseconds' })
      work.draining ??= work.drain(timeoutMs)
      return work.draining
    },
    close: () => {
      unname?.()
      work.turns.gate.failOpen.open()
    },
  }
}

class Work implements RunOwner {
  readonly turns: Turns<Run>
  draining: Promise<boolean> | undefined
  /** Undefined when nothing is shed. */
  readonly #memory: Memory | undefined
  /** Number of runs that wait or run. */
  #open = 0
  #onIdle: (() => void) | undefined

  constructor({ limit, sheds }: CheckedLimiterOptions) {
    this.#memory = sheds ? processMemory() : undefined
    this.turns = new Turns<Run>({
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
        this.turns.close()
      }, timeoutMs).unref()
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve(true)
      }
      if (this.#open === 0) this.#onIdle()
    })
  }

  settled(run: Run): void {
    this.turns.end(run, true)
    this.#ended(run)
  }

  givenUp(run: Run): void {
    if (run.waits) {
      this.turns.leave(run)
      this.#ended(run)
    } else this.turns.giveUp(run)
  }

  shed(run: Run, reason: ShedReason): void {
    const { gate } = this.turns
    const nowMs = now()
    gate.countShed(reason, nowMs, reason === 'memory' ? this.#memory?.fullOf(nowMs) : undefined)
    run.fail(new ShedError(gate.sheds.last!, nowMs - run.arrivedAt))
    this.#ended(run)
  }

  #decide(run: Run): Decision {
    if (run.nested) return 'start'
    const { gate } = this.turns
    const isShort = this.#memory?.refuses(false, run.arrivedAt)
    const reason = this.draining !== undefined ? 'closing' : isShort ? 'memory' : undefined
    if (reason === undefined || gate.failOpen.isOpen) return this.turns.ask(run)
    gate.load.offered(run.arrivedAt)
    return reason
  }

  #ended(run: Run): void {
    this.#open--
    if (run.holdsMemory) this.#memory?.left(false)
    if (this.#open === 0) this.#onIdle?.()
  }
}
