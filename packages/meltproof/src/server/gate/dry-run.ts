/**
 * A dry run: every request is started at once. One that would have waited has a shadow at the gate, which takes a permit in
 * its turn for as long as the handler took. So as many are counted as shed as would have been.
 */
import type { Decision } from '../../admission/gate.ts'
import type { ShedReason } from '../../admission/shed-reason.ts'
import { now } from '../../clock.ts'
import type { FailOpen } from '../fail-open.ts'
import type { Exchange } from '../request/exchange.ts'
import { describeHead } from '../request/request-head.ts'
import type { Shedding } from '../shed/shedding.ts'
import type { ServerGate } from './server-gate.ts'

export class DryRun {
  readonly #gate: ServerGate
  readonly #shedding: Shedding
  readonly #failOpen: FailOpen

  constructor(gate: ServerGate, shedding: Shedding, failOpen: FailOpen) {
    this.#gate = gate
    this.#shedding = shedding
    this.#failOpen = failOpen
  }

  /** What the gate says is noted, and the request starts. */
  decide(exchange: Exchange, nowMs: number): Decision {
    if (this.#shedding.refusedByNode(exchange, describeHead(exchange.request.rawHeaders))) {
      exchange.ungated = true
      this.#gate.admitted++
      return 'start'
    }
    const decision = this.#gate.decide(exchange, nowMs)
    if (decision === 'start') return 'start'
    exchange.ungated = true
    if (decision === 'wait') exchange.shadow = { tookMs: -1 }
    else this.#shedding.count(decision, nowMs)
    return 'start'
  }

  /** The gate lets a shadow in; its handler may have ended long before. */
  start(exchange: Exchange): void {
    this.#gate.permit(exchange, now())
    if (exchange.shadow!.tookMs >= 0) this.#endLater(exchange)
  }

  /** The gate sheds a shadow. */
  shed(reason: ShedReason): void {
    this.#shedding.count(reason, now())
  }

  /** The handler of a request with a shadow has ended. */
  handlerEnded(exchange: Exchange, nowMs: number): void {
    const shadow = exchange.shadow!
    if (shadow.tookMs >= 0) return
    shadow.tookMs = nowMs - exchange.arrivedAt
    if (exchange.holdsPermit) this.#endLater(exchange)
  }

  /** A request that had waited would have begun only with its permit. */
  #endLater(exchange: Exchange): void {
    const { permits } = this.#gate
    const end = (): void => {
      if (exchange.abandoned) permits.drop(exchange, now())
      else permits.record(exchange, now())
    }
    const leftMs = exchange.startedAt + exchange.shadow!.tookMs - now()
    setTimeout(() => this.#failOpen.guard(end), Math.max(0, leftMs)).unref()
  }
}
