import { types } from 'node:util'
import { checkObject, invalidOption, rejectUnknown, show } from '../options.ts'
import { Budget } from './budget.ts'
import { currentBudget, openBudget, runWithBudget } from './context.ts'

export interface WithinOptions {
  /** Names the work in the error. Must contain no secret, because errors are logged. @default 'the work' */
  readonly what?: string
  /** If less time than this is left, ms, the work is not started, because it could not finish. @default 1 */
  readonly needsMs?: number
  /**
   * Another signal that ends the work early; the promise rejects with its reason. A reason that is not an Error becomes
   * the `cause` of an AbortError, as in Node's own functions.
   */
  readonly signal?: AbortSignal
}

const KNOWN = ['what', 'needsMs', 'signal'] as const satisfies (keyof WithinOptions)[]

/**
 * Calls `fn(signal)` and settles as its promise does. Rejects when `ms` milliseconds have passed, not counting stalls
 * of this process's event loop, or when the surrounding budget ends; then `signal` aborts with the same reason. A
 * callback that ignores its signal is not awaited. At 0 or below `fn` is not called; with Infinity only surrounding
 * limits apply. Every error is a rejection.
 *
 * @example const user = await within(200, signal => fetch(url, { signal }))
 * @throws DeadlineExceededError when the time is up; `phase` is `'refused'` when `fn` was not even called.
 * @throws MeltproofError `MELTPROOF_OPTION_INVALID` or `_UNKNOWN` for invalid arguments.
 */
export function within<T>(
  ms: number,
  fn: (signal: AbortSignal) => T | PromiseLike<T>,
  options: WithinOptions = {},
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const { signal: outer, ...rest } = checked(ms, fn, options)
    if (outer?.aborted) throw reasonOf(outer)
    const budget = openBudget(ms, rest)
    if (!(budget instanceof Budget)) throw budget
    const cancel = (): void => budget.cancel(reasonOf(outer!))
    outer?.addEventListener('abort', cancel, { once: true })
    const done = (): void => {
      budget.settle()
      outer?.removeEventListener('abort', cancel)
    }
    budget.onEnd(reason => {
      outer?.removeEventListener('abort', cancel)
      reject(reason)
    })
    let result: T | PromiseLike<T>
    try {
      result = runWithBudget(budget, () => fn(budget.signal))
    } catch (error) {
      result = Promise.reject(error)
    }
    Promise.resolve(result).then(
      value => {
        done()
        resolve(value)
      },
      error => {
        done()
        reject(error)
      },
    )
  })
}

/**
 * Milliseconds left for the running code: of `within()`, or of the request if its server is protected with
 * `deadlineMs`. 0 when the time is up; Infinity without a limit.
 */
export function remaining(): number {
  return currentBudget()?.remainingMs() ?? Number.POSITIVE_INFINITY
}

/** Database drivers set properties on the errors they get, so every budget ends with an Error. */
function reasonOf({ reason }: AbortSignal): Error {
  // An error may come from another realm, for example in Jest.
  if (reason instanceof Error || reason instanceof DOMException || types.isNativeError(reason)) return reason
  const error = new Error('The operation was aborted', { cause: reason })
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' })
}

function checked(ms: unknown, fn: unknown, options: WithinOptions): WithinOptions {
  if (typeof ms !== 'number' || Number.isNaN(ms)) {
    invalidOption('within(ms, fn): ms', 'a number of milliseconds; 0 or less means the time is up', ms)
  }
  if (typeof fn !== 'function') invalidOption('within(ms, fn): fn', 'a function', fn)
  checkObject('within(ms, fn, options): options', options, 'an object')
  rejectUnknown('within(ms, fn, options)', options, KNOWN)
  const { what, needsMs = 0, signal } = options
  if (what !== undefined && typeof what !== 'string') invalidOption('what', 'a string', what)
  if (typeof needsMs !== 'number' || !(needsMs >= 0)) {
    invalidOption('needsMs', 'a number of milliseconds from 0', needsMs)
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) invalidOption('signal', 'an AbortSignal', show(signal))
  return options
}
