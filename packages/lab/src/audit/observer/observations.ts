/** What the parts of the observer share: whether they observe, and what they have counted. Pure. */
import type { Cause } from '../causes.ts'
import type { Tally } from '../facts.ts'

/** Maximum number of tallies, because an app that keeps calling new hosts from new places would fill its memory. */
const MOST = 200

export class Observations {
  /** False before the load begins: work that an app does once at its start causes no overload. */
  on = false
  /** The path of the last request with its query, in the phase `alone`; otherwise empty. */
  path = ''
  readonly #seen = new Map<string, { -readonly [Key in keyof Tally]: Tally[Key] }>()

  add(cause: Cause, what: string, where: string, queue = 0, path = ''): void {
    const key = JSON.stringify([cause, what, where, path])
    const seen = this.#seen.get(key)
    if (seen !== undefined) {
      seen.times++
      seen.longestQueue = Math.max(seen.longestQueue, queue)
    } else if (this.#seen.size < MOST) {
      this.#seen.set(key, { cause, what, where, path, times: 1, longestQueue: queue })
    }
  }

  tallies(): readonly Tally[] {
    return [...this.#seen.values()]
  }
}

/** Ignores exceptions of the observer, which must not reach the app. */
export function quietly(look: () => void): void {
  try {
    look()
  } catch {}
}
