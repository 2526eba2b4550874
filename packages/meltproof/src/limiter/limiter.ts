import { now } from '../clock.ts'
import { nameLimiter } from '../named-figures.ts'
import { checkNumber } from '../options.ts'
import type { GateStats } from '../process-gate.ts'
import { checkLimiterOptions, type LimiterOptions, type RunOptions } from './options.ts'
import { LimiterWork } from './run.ts'

export interface LimiterStats extends GateStats {
  /** True once drain() was called. */
  readonly draining: boolean
}

export interface Limiter {
  /**
   * Calls `fn` when there is a permit for it, and settles as `fn` does; then the permit ends. Rejects when the deadline
   * of the caller passes (docs/limiter.md).
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
  const work = new LimiterWork(checked)
  const { name } = checked
  const unname = name === undefined ? undefined : nameLimiter(name, () => work.gate.processGate.stats())
  return {
    run: (fn, runOptions) => work.run(fn, runOptions),
    stats: () => ({ ...work.gate.processGate.stats(), draining: work.draining !== undefined }),
    pressure: () => work.gate.processGate.load.pressure(now()),
    explain: () => work.gate.processGate.explain('run that was shed'),
    drain: (timeoutMs = DRAIN_MS) => {
      checkNumber('drain(timeoutMs)', timeoutMs, { min: 0, max: MOST_DRAIN_MS, unit: 'milliseconds' })
      work.draining ??= work.drain(timeoutMs)
      return work.draining
    },
    close: () => {
      unname?.()
      work.gate.processGate.failOpen.open()
    },
  }
}
