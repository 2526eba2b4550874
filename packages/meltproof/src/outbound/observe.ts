/** HTTP calls of this process that are recorded. */
import { nodeHttp } from './node-http.ts'
import { adoptDispatchers, undiciProgress, undiciRequests } from './undici.ts'

/** Has every one recorded, whether or not it is bounded. Returns what ends it. */
export function observeHttpCalls(): () => void {
  const parts = [adoptDispatchers(), undiciRequests.use(), undiciProgress.use(), nodeHttp.use()]
  return () => {
    for (const stop of parts) stop()
  }
}

let seen = false

/** The same until the process ends: retry() sees the calls of its attempts. */
export function seeHttpCalls(): void {
  if (seen) return
  seen = true
  observeHttpCalls()
}
