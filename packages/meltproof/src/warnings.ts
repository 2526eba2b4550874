/** Warnings go to the operator's `onWarning`, by default to `process.emitWarning`. */
import { isFirstToSay } from './cluster/said.ts'
import { showThrown } from './options.ts'

export type Warn = (text: string) => void

/** The workers of a cluster say a text once: one that is of one process alone names it. */
export const warn: Warn = text => {
  if (isFirstToSay(text)) warnEach(text)
}

/** What each process says, each time that it has to. */
export const warnEach: Warn = text => process.emitWarning(text, { type: 'MeltproofWarning' })

/** Says the first text it gets, and no other. */
export function warnOnce(): Warn {
  let told = false
  return text => {
    if (!told) warn(text)
    told = true
  }
}

/** `onWarning`, whose failures do not come back to the app. A warning that it fails on goes to `process.emitWarning`. */
export function safeWarning(onWarning: Warn): Warn {
  const warnInstead = (text: string, how: string): void => {
    try {
      warn(`${text} (Printed here because onWarning ${how}.)`)
    } catch {
      // Nobody is left to tell.
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
 * Hooks must answer at once. One that is async answers a promise, whose rejection must not become the app's and end the process.
 * Returns true for a promise or a thenable, and passes its rejection to `onRejected`, which by default ignores it. Never throws,
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
    // A getter that throws is no promise; a `then` that throws has nothing more to tell.
  }
  return typeof then === 'function'
}

function nothing(): void {}
