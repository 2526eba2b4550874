/**
 * Requests that their clients have left, while something still refers to them. Such a handler may work on, or have given up
 * without a word: when the garbage collector has found that nothing can reach request or response any more, it has ended.
 */
import type { Orphan } from '../../admission/in-service/permit.ts'
import type { Exchange } from '../request/exchange.ts'
import { StreamRequest } from '../request/stream-request.ts'

interface Watched {
  readonly orphan: Orphan
  /** How many of its objects are still reachable. */
  left: number
}

export class ReachableRequests {
  readonly #registry: FinalizationRegistry<Watched>

  constructor(onCollected: (orphan: Orphan) => void) {
    this.#registry = new FinalizationRegistry(watched => {
      if (--watched.left === 0) onCollected(watched.orphan)
    })
  }

  /** Only for clients that have left: a registration costs as much as a small request. */
  watch(exchange: Exchange, orphan: Orphan): void {
    const objects = objectsOf(exchange)
    const watched = { orphan, left: objects.size }
    for (const each of objects) this.#registry.register(each, watched)
  }
}

/** What an app can answer by. Of a raw stream request and response are ours alone. */
function objectsOf({ request, response }: Exchange): Set<object> {
  const { stream } = (response ?? request) as { readonly stream?: object }
  const objects = new Set<object>()
  if (stream !== undefined) objects.add(stream)
  if (request instanceof StreamRequest) return objects
  objects.add(request)
  if (response !== undefined) objects.add(response)
  return objects
}
