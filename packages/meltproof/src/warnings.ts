/** Warnings go to the operator's `onWarning`, by default to `process.emitWarning`. */
import { isFirstToSay } from './cluster/said.ts'
import { caughtPromise } from './promise-like.ts'
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
      warn(`${text} (Said here because onWarning ${how}.)`)
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
