/** Warnings go to the operator's `onWarning`, by default to `process.emitWarning`. */
import { isFirstToSay } from './cluster/said.ts'
import { showThrown } from './options.ts'

export type Warn = (text: string) => void

/** The workers of a cluster print a text once. Per-process warnings include the PID. */
export const warn: Warn = text => {
  if (isFirstToSay(text)) warnEach(text)
}

/** Prints a warning in each process, each time. */
export const warnEach: Warn = text => process.emitWarning(text, { type: 'MeltproofWarning' })

/** Prints the first text it receives, and no other. */
export function warnOnce(): Warn {
  let told = false
  return text => {
    if (!told) warn(text)
    told = true
  }
}

/** Wraps `onWarning`: its failures do not reach the app, and `process.emitWarning` gets the warning instead. */
export function safeWarning(onWarning: Warn): Warn {
  const warnInstead = (text: string, how: string): void => {
    try {
      warn(`${text} (Printed here because onWarning ${how}.)`)
    } catch {
      // Even process.emitWarning failed, so no receiver is left.
    }
  }
  return text => {
    try {
      caughtPromise(onWarning(text), reason => warnInstead(text, `rejected with ${showThrown(reason)}`))
    } catch (error) {
      warnInstead(text, `threw ${showThrown(error)}`)
    }
  }
}

/**
 * Hooks must be synchronous. An async hook returns a promise, whose rejection must not end the process. Returns true
 * for a promise or a thenable, and passes its rejection to `onRejected`, which by default ignores it. Never throws,
 * even if reading `then` does.
 */
export function caughtPromise(value: unknown, onRejected: (reason: unknown) => void = nothing): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  let then: unknown
  try {
    then = (value as { then?: unknown }).then
    if (typeof then !== 'function') return false
    then.call(value, nothing, onRejected)
  } catch {
    // A getter that throws is not a promise; the exception of a `then` is ignored.
  }
  return typeof then === 'function'
}

function nothing(): void {}

/** The result of `act`; undefined if it throws. */
export function quietly<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}
