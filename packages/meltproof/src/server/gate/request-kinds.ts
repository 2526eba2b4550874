/** Finds the kind of a request by its path or the operator's `kind` (admission/fairness/known-kinds.ts). */
import type { IncomingMessage } from 'node:http'
import { KnownKinds } from '../../admission/fairness/known-kinds.ts'
import { KINDS_IN_SERVICE } from '../../admission/in-service/service-times.ts'
import { routeOf } from '../../request-notes.ts'
import type { Warn } from '../../warnings.ts'
import type { Exchange } from '../request/exchange.ts'
import { isHttp2 } from '../request/is-http2.ts'
import { safely } from '../request/operators-function.ts'

export type KindName = (request: IncomingMessage) => string | undefined

export function kindNames(kind: KindName, warn: Warn): KindName {
  return safely({
    name: 'kind',
    call: kind,
    read: answer => (typeof answer === 'string' ? answer : undefined),
    expected: 'a string or undefined',
    otherwise: 'such requests are grouped by their path',
    warn,
  })
}

export class RequestKinds {
  readonly known: KnownKinds = new KnownKinds()

  ofWaiting(exchange: Exchange): number {
    if (!exchange.kindArrived) {
      exchange.kindArrived = true
      exchange.kind = this.known.of(exchange.kindKey)
      this.known.arrived(exchange.kind, exchange.arrivedAt)
    }
    return exchange.kind
  }

  /** Returns the kind for service times, which depends on the method: reading an order is less work than placing it. */
  inService(exchange: Exchange): number {
    const kind = this.known.of(exchange.kindKey)
    if (exchange.kind < 0) exchange.kind = kind
    return this.lastInService(String(exchange.request.method ?? ''))
  }

  /** Like {@link inService}, for the path that was looked up last. */
  lastInService(method: string): number {
    return ((this.known.path >>> 0) + 37 * method.length + (method.charCodeAt(0) || 0)) % KINDS_IN_SERVICE
  }

  /** Paths and names answered with 404 do not become kinds. @param standing whether the service is overloaded */
  answered(exchange: Exchange, nowMs: number, standing: boolean): void {
    const { request, response, kind, kindKey: key } = exchange
    const isUnimplemented = isHttp2(request) && String(response?.getHeader('grpc-status')) === UNIMPLEMENTED
    if (isUnimplemented || response?.statusCode === 404) this.known.notFound(kind, key)
    else this.known.answered(kind, key, nowMs, standing, routeOf(request))
  }
}

/** gRPC's status for an unknown path. */
const UNIMPLEMENTED = '12'
