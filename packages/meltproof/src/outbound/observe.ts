/** Has every HTTP call recorded that this process makes, whether or not it is bounded. */
import { registerCallObserver } from '../observed-calls.ts'
import { nodeHttp } from './node-http.ts'
import { adoptDispatchers, undiciProgress, undiciRequests } from './undici.ts'

registerCallObserver(observeHttpCalls)

function observeHttpCalls(): () => void {
  const parts = [adoptDispatchers(), undiciRequests.use(), undiciProgress.use(), nodeHttp.use()]
  return () => {
    for (const stop of parts) stop()
  }
}

let seen = false

/** The same for as long as the process lasts: retry() sees what its attempts do. */
export function seeHttpCalls(): void {
  if (seen) return
  seen = true
  observeHttpCalls()
}
