/**
 * Which request the code works for that runs now. Node 24 carries an async context at next to no cost. Before, it costs every
 * promise of the process something, so there only the first stretch of a handler is known, up to its first `await`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import { routeOf } from '../request-notes.ts'
import { setRequestContext } from '../signals/named-stalls.ts'

const CHEAP_SINCE_NODE = 24

let storage: AsyncLocalStorage<object> | undefined
let running: object | undefined

/** Returns what ends it. */
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

/** `GET /invoices/:id`, or with its path where no route is named. */
export function routeText(request: object): string {
  const { method = '', url = '' } = request as IncomingMessage
  return `${method} ${routeOf(request) ?? url.split('?', 1)[0]!.slice(0, 200)}`
}
