/** Records the HTTP calls of this process. */
import { nodeHttp } from './node-http.ts'
import { adoptDispatchers, undiciProgress, undiciRequests } from './undici.ts'

/** Records every HTTP call, limited or not. Returns a function that ends it. */
export function observeHttpCalls(): () => void {
  const parts = [adoptDispatchers(), undiciRequests.use(), undiciProgress.use(), nodeHttp.use()]
  return () => {
    for (const stop of parts) stop()
  }
}

let seen = false

/** The same until the process ends, because retry() follows the calls of its attempts. */
export function seeHttpCalls(): void {
  if (seen) return
  seen = true
  observeHttpCalls()
}
