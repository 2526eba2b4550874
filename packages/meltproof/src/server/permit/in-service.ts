/**
 * The requests in service, in order of their start: a list through the exchanges, O(1) each way. Not a Set: its old
 * tables keep dead requests alive in V8's old space, which cost 10 to 20 % of the CPU with short requests.
 */
import type { Exchange } from '../request/exchange.ts'

export class InService {
  #first: Exchange | undefined
  #last: Exchange | undefined

  add(exchange: Exchange): void {
    exchange.startedBefore = this.#last
    if (this.#last === undefined) this.#first = exchange
    else this.#last.startedAfter = exchange
    this.#last = exchange
  }

  delete(exchange: Exchange): void {
    const { startedBefore: before, startedAfter: after } = exchange
    if (before === undefined) this.#first = after
    else before.startedAfter = after
    if (after === undefined) this.#last = before
    else after.startedBefore = before
    exchange.startedBefore = undefined
    exchange.startedAfter = undefined
  }

  /** Those that `wanted` holds of, oldest first, up to the first that `until` holds of. */
  find(wanted: (exchange: Exchange) => boolean, until: (exchange: Exchange) => boolean = () => false): Exchange[] {
    const found: Exchange[] = []
    for (let at = this.#first; at !== undefined && !until(at); at = at.startedAfter) if (wanted(at)) found.push(at)
    return found
  }
}
