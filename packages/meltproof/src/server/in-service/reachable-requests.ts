/**
 * Watches requests whose clients have left and that the app still references. Their handlers may still work, or may
 * have stopped silently. When the garbage collector finds request and response unreachable, the handler has ended.
 */
import type { Orphan } from '../../admission/in-service/permit.ts'
import type { Exchange } from '../request/exchange.ts'
import { isHttp2 } from '../request/is-http2.ts'
import { StreamRequest } from '../request/stream-request.ts'

/** Call the returned function only when a client has left: a registration costs as much as a small request. */
export function watchReachable(onCollected: (orphan: Orphan) => void): (exchange: Exchange, orphan: Orphan) => void {
  const registry = new FinalizationRegistry<{ readonly orphan: Orphan; reachable: number }>(watched => {
    if (--watched.reachable === 0) onCollected(watched.orphan)
  })
  return (exchange, orphan) => {
    const objects = objectsOf(exchange)
    const watched = { orphan, reachable: objects.size }
    for (const each of objects) registry.register(each, watched)
  }
}

/** The objects through which an app can answer. For a raw stream, the request and the response are meltproof's own. */
function objectsOf({ request, response }: Exchange): Set<object> {
  const objects = new Set<object>()
  if (isHttp2(request)) objects.add(request.stream)
  if (request instanceof StreamRequest) return objects
  objects.add(request)
  if (response !== undefined) objects.add(response)
  return objects
}
