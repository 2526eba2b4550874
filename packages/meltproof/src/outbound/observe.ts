import { useNodeHttp } from './node-http.ts'
import { adoptDispatchers, useUndiciProgress, useUndiciRequests } from './undici.ts'

/** Records every HTTP call, limited or not. The returned function ends this. */
export function observeHttpCalls(): () => void {
  const parts = [adoptDispatchers(), useUndiciRequests(), useUndiciProgress(), useNodeHttp()]
  return () => {
    for (const stop of parts) stop()
  }
}

let seen = false

/** Observes HTTP calls until the process ends, because retry() follows the calls of its attempts. */
export function seeHttpCalls(): void {
  if (seen) return
  seen = true
  observeHttpCalls()
}
