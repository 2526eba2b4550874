/**
 * Finds the request for which code is running. In Node 24 an async context costs almost nothing. In earlier versions it
 * slows down every promise, so there a handler's code is attributed only up to its first `await`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import { routeOf } from '../request-notes.ts'
import { type NamedStall, type RunningRequest, stallNaming } from '../signals/named-stalls.ts'

const CHEAP_SINCE_NODE = 24
/** The trace id in a `traceparent` header (W3C Trace Context). */
const TRACE_ID = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-/
/** Ids come from clients and are printed, so an id that does not match is ignored. */
const PLAIN_ID = /^[\w.:/+=@-]{1,128}$/

let storage: AsyncLocalStorage<RunningRequest> | undefined
let running: RunningRequest | undefined

/** Follows requests until the returned function is called. */
export function followRequests(): () => void {
  const isCheap = Number(process.versions.node.split('.')[0]) >= CHEAP_SINCE_NODE
  const contexts = isCheap ? new AsyncLocalStorage<RunningRequest>() : undefined
  storage = contexts
  stallNaming.requestContext = contexts ? (entered, handle) => contexts.run(entered, handle) : runFirstStretch
  return () => {
    stallNaming.requestContext = undefined
    storage = undefined
  }
}

function runFirstStretch(entered: RunningRequest, handle: () => boolean): boolean {
  const outer = running
  running = entered
  try {
    return handle()
  } finally {
    running = outer
  }
}

/** Undefined outside a request, and once its handler has ended. */
export function runningRequest(): object | undefined {
  return (storage === undefined ? running : storage.getStore())?.request
}

/** `GET /invoices/:id`, or the path when no route is named. */
export function routeText(request: object): string {
  const { method = '', url = '' } = request as IncomingMessage
  return `${method} ${routeOf(request) ?? url.split('?', 1)[0]!.slice(0, 200)}`
}

/** The ids under which the caller logs the request: from `traceparent` and `x-request-id`. */
export function callerOf(request: object | undefined): Pick<NamedStall, 'traceId' | 'requestId'> {
  const { traceparent, 'x-request-id': id } = (request as IncomingMessage | undefined)?.headers ?? {}
  return {
    traceId: typeof traceparent === 'string' ? TRACE_ID.exec(traceparent)?.[1] : undefined,
    requestId: typeof id === 'string' && PLAIN_ID.test(id) ? id : undefined,
  }
}
