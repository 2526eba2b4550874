/** The kind of a request, by its path (admission/fairness/known-kinds.ts). */
import { KnownKinds } from '../../admission/fairness/known-kinds.ts'
import { KINDS_IN_SERVICE } from '../../admission/in-service/service-times.ts'
import { routeOf } from '../../route.ts'
import type { Exchange } from '../request/exchange.ts'

export class RequestKinds {
  readonly known: KnownKinds = new KnownKinds()

  ofWaiting(exchange: Exchange): number {
    if (!exchange.kindCame) {
      exchange.kindCame = true
      exchange.kind = this.known.of(exchange.url)
      this.known.came(exchange.kind, exchange.arrivedAt)
    }
    return exchange.kind
  }

  /** The kind it counts as in service. With its method: to read an order takes other work than to place one. */
  inService(exchange: Exchange): number {
    const kind = this.known.of(exchange.url)
    if (exchange.kind < 0) exchange.kind = kind
    const method = String(exchange.request.method ?? '')
    return ((this.known.path >>> 0) + 37 * method.length + (method.charCodeAt(0) || 0)) % KINDS_IN_SERVICE
  }

  /** `standing`: the service is overloaded. Paths that are not found become no kinds. */
  answered({ request, response, kind, url }: Exchange, nowMs: number, standing: boolean): void {
    if (response?.statusCode === 404 || (request.httpVersionMajor >= 2 && isUnimplemented(response)))
      this.known.notFound(kind, url)
    else this.known.answered(kind, url, nowMs, standing, routeOf(request))
  }
}

/** What gRPC answers for a path that is not found. */
function isUnimplemented(response: Exchange['response']): boolean {
  return String(response?.getHeader('grpc-status')) === UNIMPLEMENTED
}

const UNIMPLEMENTED = '12'
