/** Warnings go to the operator's `onWarning`, by default to `process.emitWarning`. */
import { showThrown } from './options.ts'

export type Warn = (text: string) => void

export const warn: Warn = text => process.emitWarning(text, { type: 'MeltproofWarning' })

/** The returned function passes the first text it receives to `warning`, and no other. */
export function warnOnce(warning: Warn = warn): Warn {
  let hasWarned = false
  return text => {
    if (!hasWarned) warning(text)
    hasWarned = true
  }
}

/** Wraps `onWarning`. If it throws or rejects, the app does not notice, and `process.emitWarning` gets the warning. */
export function safeWarning(onWarning: Warn): Warn {
  const warnInstead = (text: string, how: string): void =>
    quietly(() => warn(`${text} (Printed here because onWarning ${how}.)`))
  return text => {
    try {
      caughtPromise(onWarning(text), reason => warnInstead(text, `rejected with ${showThrown(reason)}`))
    } catch (error) {
      warnInstead(text, `threw ${showThrown(error)}`)
    }
  }
}

/**
 * Handles the result of a hook. If that is a promise or a thenable, returns true, and passes a rejection to
 * `onRejected` (by default ignored), so that it does not end the process. Never throws, even if reading `then` does.
 */
export function caughtPromise(value: unknown, onRejected: (reason: unknown) => void = nothing): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  let then: unknown
  try {
    then = (value as { then?: unknown }).then
    if (typeof then !== 'function') return false
    then.call(value, nothing, onRejected)
  } catch {
    // If `then` cannot be read, the value is not a promise. An exception of `then` itself is ignored.
  }
  return typeof then === 'function'
}

function nothing(): void {}

/** Returns the result of `act`, or undefined if it throws. */
export function quietly<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}
