import { clearTimeout, setTimeout } from 'node:timers'
import { Chain, currentChain, runInChain } from '../chain.ts'
import { now } from '../clock.ts'
import type { Budget } from '../deadline/budget.ts'
import { currentBudget } from '../deadline/context.ts'
import { isMeltproofError } from '../errors.ts'
import { checkFunction, checkNumber, invalidOption, rejectUnknown } from '../options.ts'
import { Attempt, currentAttempt } from './attempt.ts'
import { LONGEST_MS } from './limits.ts'
import { seeHttpCalls } from './observe.ts'
import { RetryBudget } from './retry-budget.ts'

/** @experimental */
export interface RetryOptions {
  /** Number of attempts, including the first. @default 3 */
  readonly attempts?: number
  /** Maximum random wait before the second attempt; doubles with each further one. Milliseconds. @default 50 */
  readonly baseMs?: number
  /** Maximum random wait before any attempt. Milliseconds. @default 1000 */
  readonly maxWaitMs?: number
  /** An answer whose `Retry-After` is longer is not retried. Milliseconds. @default 30000 */
  readonly maxRetryAfterMs?: number
  /**
   * HTTP methods that may be repeated. An attempt that made a call with another method is not retried.
   * @default ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE']
   */
  readonly methods?: readonly string[]
  /**
   * Returns true if this error may be retried. @default all except an abort, a cancelled budget, a refused call and a
   * programming error (TypeError, RangeError, ...; a TypeError of `fetch` has a cause and is not one)
   */
  readonly retryIf?: (error: unknown) => boolean
}

/** Idempotent by RFC 9110, section 9.2.2. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])

/**
 * Calls `fn` until it succeeds, up to `attempts` times and while `budget` has a retry left; then throws the last error
 * of `fn`. It observes the HTTP calls of `fn`: an attempt that used a method outside `methods` is not repeated, and
 * `Retry-After` is the minimum wait. No attempt starts after a deadline.
 *
 * @example
 * const budget = new RetryBudget() // Use one for all calls to a dependency.
 * const user = await retry(() => fetchUser(id), budget)
 * @experimental
 */
export async function retry<R>(
  fn: (attempt: number) => Promise<R> | R,
  budget: RetryBudget,
  options: RetryOptions = {},
): Promise<R> {
  const { attempts, baseMs, maxWaitMs, maxRetryAfterMs, methods, retryIf } = check(fn, budget, options)
  seeHttpCalls()
  const outer = currentChain()
  const chain = outer ?? new Chain()
  // A retry() inside a retry, or inside an attempt that the same budget pays for, earns no tokens.
  if (outer?.retried !== true && currentAttempt()?.isPaidFrom(budget) !== true) budget.attempted()
  try {
    for (let count = 1; ; count++) {
      const attempt = new Attempt(methods, budget)
      const run = (): Promise<R> | R => attempt.run(() => fn(count))
      try {
        return await (outer === undefined ? runInChain(chain, run) : run())
      } catch (error) {
        const mayRepeat = count < attempts && attempt.repeatable && !isLast(chain, outer) && retryIf(error)
        if (!mayRepeat) throw error
        const nowMs = now()
        const leastMs = Math.max(0, attempt.notBeforeMs - nowMs)
        const waitMs = leastMs + Math.random() * Math.min(maxWaitMs, baseMs * 2 ** (count - 1))
        const deadline = currentBudget()
        if (leastMs > maxRetryAfterMs || waitMs >= (deadline?.remainingMs() ?? Number.POSITIVE_INFINITY)) throw error
        if (!budget.take(nowMs)) throw error
        await waited(waitMs, deadline)
        // During the wait, another call of the same request may have used the request's only retry.
        if (deadline?.reason !== undefined || isLast(chain, outer)) throw error
        chain.retried = true
        outer?.spend()
      } finally {
        attempt.ended = true
      }
    }
  } finally {
    if (outer === undefined) chain.end()
  }
}

/** Resolves early when the deadline passes. The timer is not unref'd, because the app's own work waits here. */
function waited(ms: number, deadline: Budget | undefined): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer)
      deadline?.offEnd(done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    deadline?.onEnd(done)
  })
}

/** A request allows one retry, over all tiers. Work that belongs to no request may use all its attempts. */
function isLast(chain: Chain, outer: Chain | undefined): boolean {
  return chain.spent || outer?.retried === true
}

interface Checked extends Required<Omit<RetryOptions, 'methods'>> {
  readonly methods: ReadonlySet<string>
}

const KNOWN: (keyof RetryOptions)[] = ['attempts', 'baseMs', 'maxWaitMs', 'maxRetryAfterMs', 'methods', 'retryIf']
const MOST_RETRY_AFTER = { min: 0, max: LONGEST_MS - 600_000, unit: 'milliseconds' }

function check(fn: unknown, budget: unknown, options: RetryOptions): Checked {
  if (typeof fn !== 'function') invalidOption('the first argument of retry()', 'a function', fn)
  if (!(budget instanceof RetryBudget)) invalidOption('the second argument of retry()', 'a RetryBudget', budget)
  rejectUnknown('retry()', options, KNOWN)
  const { attempts = 3, baseMs = 50, maxWaitMs = 1_000, maxRetryAfterMs = 30_000, methods } = options
  return {
    attempts: checkNumber('attempts', attempts, { min: 1, max: 100, whole: true }),
    baseMs: checkNumber('baseMs', baseMs, { min: 0, max: 60_000, unit: 'milliseconds' }),
    maxWaitMs: checkNumber('maxWaitMs', maxWaitMs, { min: 0, max: 600_000, unit: 'milliseconds' }),
    maxRetryAfterMs: checkNumber('maxRetryAfterMs', maxRetryAfterMs, MOST_RETRY_AFTER),
    methods: methods === undefined ? IDEMPOTENT : checkMethods(methods),
    retryIf: checkFunction('retryIf', options.retryIf) ?? mayBeRetried,
  }
}

function checkMethods(methods: unknown): ReadonlySet<string> {
  if (!Array.isArray(methods)) invalidOption('methods', "a list of HTTP methods such as ['GET', 'POST']", methods)
  return new Set(
    methods.map((method: unknown, i) => {
      if (typeof method !== 'string' || !/^[\w-]+$/.test(method)) {
        invalidOption(`methods[${i}]`, "an HTTP method such as 'POST'", method)
      }
      return method.toUpperCase()
    }),
  )
}

const NOT_AGAIN: readonly string[] = ['MELTPROOF_OUTBOUND_FULL', 'MELTPROOF_OUTBOUND_DOWN', 'MELTPROOF_CANCELLED']

function mayBeRetried(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error.name === 'AbortError') return false
  const reasons: unknown[] = [error, error.cause]
  if (reasons.some(reason => isMeltproofError(reason) && NOT_AGAIN.includes(reason.code))) return false
  if (error instanceof TypeError) return error.cause !== undefined
  return !(error instanceof RangeError || error instanceof ReferenceError || error instanceof SyntaxError)
}
