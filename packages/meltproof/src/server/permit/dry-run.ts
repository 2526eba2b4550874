/**
 * A dry run: everybody is started at once, and who would have waited has a stand-in at the gate that takes a permit in its
 * turn, for as long as the handler took. So as many are counted as shed as would have been.
 */
import { now } from '../../clock.ts'
import type { Exchange } from '../request/exchange.ts'
import type { Permits } from './permits.ts'

export class StandIns {
  readonly #permits: Permits
  readonly #guarded: (act: () => void) => void

  constructor(permits: Permits, guarded: (act: () => void) => void) {
    this.#permits = permits
    this.#guarded = guarded
  }

  /** The stand-in has its permit; its handler may have ended long before. */
  started(exchange: Exchange): void {
    if (exchange.tookMs >= 0) this.#end(exchange)
  }

  /** The handler has ended. */
  handlerEnded(exchange: Exchange, nowMs: number): void {
    if (exchange.tookMs >= 0) return
    exchange.tookMs = nowMs - exchange.arrivedAt
    if (exchange.holdsPermit) this.#end(exchange)
  }

  /** It holds its permit for as long as the handler took: had it waited, that would have begun only then. */
  #end(exchange: Exchange): void {
    const leftMs = exchange.startedAt + exchange.tookMs - now()
    const end = (): void => {
      if (exchange.abandoned) this.#permits.drop(exchange, now())
      else this.#permits.answered(exchange, now())
    }
    setTimeout(() => this.#guarded(end), Math.max(0, leftMs)).unref()
  }
}
