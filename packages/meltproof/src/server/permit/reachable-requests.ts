/**
 * Watches requests whose clients have left and that the app still references. Such a handler may still work, or may
 * have given up silently. When the garbage collector finds request and response unreachable, the handler has ended.
 */
import type { Orphan } from '../../admission/in-service/permit.ts'
import type { Exchange } from '../request/exchange.ts'
import { StreamRequest } from '../request/stream-request.ts'

interface Watched {
  readonly orphan: Orphan
  /** How many objects of the request are still reachable. */
  left: number
}

export class ReachableRequests {
  readonly #registry: FinalizationRegistry<Watched>

  constructor(onCollected: (orphan: Orphan) => void) {
    this.#registry = new FinalizationRegistry(watched => {
      if (--watched.left === 0) onCollected(watched.orphan)
    })
  }

  /** Used only for clients that have left: a registration costs as much as a small request. */
  watch(exchange: Exchange, orphan: Orphan): void {
    const objects = objectsOf(exchange)
    const watched = { orphan, left: objects.size }
    for (const each of objects) this.#registry.register(each, watched)
  }
}

/** The objects through which an app can answer. For a raw stream, the request and the response are meltproof's own. */
function objectsOf({ request, response }: Exchange): Set<object> {
  const { stream } = (response ?? request) as { readonly stream?: object }
  const objects = new Set<object>()
  if (stream !== undefined) objects.add(stream)
  if (request instanceof StreamRequest) return objects
  objects.add(request)
  if (response !== undefined) objects.add(response)
  return objects
}
