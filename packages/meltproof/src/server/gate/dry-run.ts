/**
 * A dry run starts every request at once. For a request that would have waited, a shadow permit is requested at the
 * gate and held for the time that its handler took, so that the counts of sheds are realistic.
 */
import { setTimeout } from 'node:timers'
import type { Decision } from '../../admission/gate.ts'
import { now } from '../../clock.ts'
import type { ProcessGate } from '../../process-gate.ts'
import type { Exchange } from '../request/exchange.ts'
import { describeHead } from '../request/request-head.ts'
import type { Shedding } from '../shed/shedding.ts'
import type { ServerGate } from './server-gate.ts'

export function decideDry(exchange: Exchange, nowMs: number, gate: ServerGate, shedding: Shedding): Decision {
  const needs = describeHead(exchange.request.rawHeaders)
  if (shedding.refusedByNode(exchange, needs)) gate.processGate.admitted++
  else {
    const decision = gate.decide(exchange, nowMs)
    if (decision === 'start') return 'start'
    if (decision === 'wait') exchange.shadowMs = -1
    else shedding.count(decision, nowMs)
  }
  exchange.ungated = true
  return 'start'
}

/** Called when the gate has a permit for a request that runs without one. The handler may have ended long before. */
export function startShadow(exchange: Exchange, gate: ProcessGate<Exchange>): void {
  gate.permit(exchange, now())
  if (exchange.shadowMs! >= 0) endLater(exchange, gate)
}

export function shadowHandlerEnded(exchange: Exchange, nowMs: number, gate: ProcessGate<Exchange>): void {
  if (exchange.shadowMs! >= 0) return
  exchange.shadowMs = nowMs - exchange.arrivedAt
  if (exchange.inService) endLater(exchange, gate)
}

/** Ends the permit after the time that the handler took, because without a dry run the handler would start only now. */
function endLater(exchange: Exchange, { failOpen, permits }: ProcessGate<Exchange>): void {
  const end = (): void => {
    if (exchange.abandoned) permits.drop(exchange, now())
    else permits.answered(exchange, now())
  }
  const leftMs = exchange.startedAt + exchange.shadowMs! - now()
  setTimeout(() => failOpen.guard(end), Math.max(0, leftMs)).unref()
}
