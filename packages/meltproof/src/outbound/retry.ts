/** Tries again within a shared budget, after random waits. */
import { setTimeout } from 'node:timers'
import { Chain, currentChain, runInChain } from '../chain.ts'
import { now } from '../clock.ts'
import { currentBudget } from '../deadline/context.ts'
import { isMeltproofError } from '../errors.ts'
import { checkFunction, checkNumber, invalidOption, rejectUnknown } from '../options.ts'
import { hold, stalledBetween } from '../signals/loop-stalls.ts'
import { RetryBudget } from './retry-budget.ts'

export interface RetryOptions {
  /** Attempts in all, the first included. @default 3 */
  readonly attempts?: number
  /** The wait before the second attempt is random up to this; twice as much each time. Milliseconds. @default 50 */
  readonly baseMs?: number
  /** No wait is longer. Milliseconds. @default 1000 */
  readonly maxWaitMs?: number
  /**
   * Whether this error may be tried again. @default all but an abort, a cancelled budget, a refused call and a mistake
   * in the code (TypeError, RangeError, ...; the TypeErrors of `fetch` have a cause and are none)
   */
  readonly retryIf?: (error: unknown) => boolean
}

/** An attempt failed by our fault when our loop was stalled for this share of it. */
const OUR_SHARE = 0.5

/** A shorter stall explains no failure, ms. */
const LEAST_STALL_MS = 10

/**
 * Calls `fn` until it succeeds, while `budget` has a retry left; then throws what `fn` threw last. An attempt during
 * which our own loop was stalled for half of the time is tried again once without charge. No attempt starts past a
 * deadline.
 *
 * @example
 * const budget = new RetryBudget() // one for all calls to a dependency: a tenth of them, and one a second
 * const user = await retry(() => fetchUser(id), budget)
 */
export async function retry<R>(
  fn: (attempt: number) => Promise<R> | R,
  budget: RetryBudget,
  options: RetryOptions = {},
): Promise<R> {
  const { attempts, baseMs, maxWaitMs, retryIf } = check(fn, budget, options)
  const release = hold()
  const outer = currentChain()
  const chain = outer ?? new Chain()
  try {
    budget.attempted()
    let free = 1
    for (let attempt = 1; ; attempt++) {
      const startMs = now()
      try {
        return await (outer === undefined ? runInChain(chain, () => fn(attempt)) : fn(attempt))
      } catch (error) {
        if (attempt >= attempts || isLast(chain, outer) || !retryIf(error)) throw error
        const endMs = now()
        const stalledMs = stalledBetween(startMs, endMs)
        const ours = stalledMs >= Math.max(LEAST_STALL_MS, OUR_SHARE * (endMs - startMs)) && free > 0
        if (ours) free--
        else if (!budget.take(endMs)) throw error
        const waitMs = Math.random() * Math.min(maxWaitMs, baseMs * 2 ** (attempt - 1))
        if ((currentBudget()?.remainingMs() ?? Number.POSITIVE_INFINITY) <= waitMs) throw error
        // Not unref'd: the app's own work waits here.
        await new Promise<void>(resolve => setTimeout(resolve, waitMs))
        // Another call of the same request may have spent it meanwhile.
        if (currentBudget()?.reason !== undefined || isLast(chain, outer)) throw error
        chain.retried = true
        outer?.spend()
      }
    }
  } finally {
    if (outer === undefined) chain.end()
    release()
  }
}

/** A request is worth one retry, wherever it is spent; work that no request asked for, its attempts. */
function isLast(chain: Chain, outer: Chain | undefined): boolean {
  return chain.spent || outer?.retried === true
}

function check(fn: unknown, budget: unknown, options: RetryOptions): Required<RetryOptions> {
  if (typeof fn !== 'function') invalidOption('the first argument of retry()', 'a function', fn)
  if (!(budget instanceof RetryBudget)) invalidOption('the second argument of retry()', 'a RetryBudget', budget)
  rejectUnknown('retry()', options, ['attempts', 'baseMs', 'maxWaitMs', 'retryIf'])
  return {
    attempts: checkNumber('attempts', options.attempts ?? 3, { min: 1, max: 100, whole: true }),
    baseMs: checkNumber('baseMs', options.baseMs ?? 50, { min: 0, max: 60_000, unit: 'milliseconds' }),
    maxWaitMs: checkNumber('maxWaitMs', options.maxWaitMs ?? 1_000, { min: 0, max: 600_000, unit: 'milliseconds' }),
    retryIf: checkFunction('retryIf', options.retryIf) ?? mayBeRetried,
  }
}

const NOT_AGAIN: readonly string[] = ['MELTPROOF_OUTBOUND_FULL', 'MELTPROOF_CANCELLED']

function mayBeRetried(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error.name === 'AbortError') return false
  const reasons: unknown[] = [error, error.cause]
  if (reasons.some(reason => isMeltproofError(reason) && NOT_AGAIN.includes(reason.code))) return false
  if (error instanceof TypeError) return error.cause !== undefined
  return !(error instanceof RangeError || error instanceof ReferenceError || error instanceof SyntaxError)
}
