/** Counts observations by cause, thing, place and path, up to a maximum. Pure. */
import type { Cause } from '../causes.ts'
import type { Tally } from '../facts.ts'

/** An app that calls new hosts from new places all the time must not fill its own memory. */
const MOST = 200

export class Tallies {
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

  all(): readonly Tally[] {
    return [...this.#seen.values()]
  }
}
