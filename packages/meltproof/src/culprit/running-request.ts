/**
 * Finds the request for which code is running. In Node 24 an async context costs almost nothing. In earlier versions it
 * slows down every promise, so there a handler's code is attributed only up to its first `await`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import { routeOf } from '../request-notes.ts'
import { setRequestContext } from '../signals/named-stalls.ts'

const CHEAP_SINCE_NODE = 24

let storage: AsyncLocalStorage<object> | undefined
let running: object | undefined

/** Follows requests until the returned function is called. */
export function followRequests(): () => void {
  const isCheap = Number(process.versions.node.split('.')[0]) >= CHEAP_SINCE_NODE
  const contexts = isCheap ? new AsyncLocalStorage<object>() : undefined
  storage = contexts
  setRequestContext(contexts === undefined ? runFirstStretch : (request, handle) => contexts.run(request, handle))
  return () => {
    setRequestContext(undefined)
    storage = undefined
  }
}

function runFirstStretch(request: object, handle: () => boolean): boolean {
  const outer = running
  running = request
  try {
    return handle()
  } finally {
    running = outer
  }
}

export function runningRequest(): object | undefined {
  return storage === undefined ? running : storage.getStore()
}

/** `GET /invoices/:id`, or the path when no route is named. */
export function routeText(request: object): string {
  const { method = '', url = '' } = request as IncomingMessage
  return `${method} ${routeOf(request) ?? url.split('?', 1)[0]!.slice(0, 200)}`
}
