/** Where the sentences go that meltproof has to say: to the operator's `onWarning`, by default `process.emitWarning`. */
import { caughtPromise } from './promise-like.ts'
import { showThrown } from '../options.ts'

export type Warn = (text: string) => void

export const warn: Warn = text => process.emitWarning(text, { type: 'MeltproofWarning' })

/**
 * `onWarning`, whose failures must not come back to the app as exceptions or rejections of ours. A note it fails on becomes
 * a warning: it may be the only one to tell that the server runs unprotected.
 */
export function safeWarning(onWarning: Warn): Warn {
  const warnInstead = (text: string, how: string): void => {
    try {
      warn(`${text} (A warning, because onWarning ${how}.)`)
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
