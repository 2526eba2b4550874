/**
 * Hooks must answer at once. One that is async answers a promise, and its rejection must not become the app's, which
 * ends the process. Pure.
 */

/**
 * True for a promise, or what passes for one: from now on its rejection goes to `onRejected`, or to nobody. Never
 * throws, whatever the value does when it is looked at.
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
