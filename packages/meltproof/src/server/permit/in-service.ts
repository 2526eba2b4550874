/**
 * The requests in service, in order of their start: a list through the exchanges themselves, O(1) each way.
 *
 * Not a Set: it rebuilds its table again and again, and each old table points at the next. Once one of them is in V8's
 * old space it keeps all that follow alive, with their requests and responses, until the next full collection. With short
 * requests that took a tenth to a fifth of the CPU. An exchange that leaves the list points at nothing.
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
