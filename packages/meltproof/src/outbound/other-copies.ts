/**
 * Bounds what a copy of undici sends that has never served as the global dispatcher, such as an Agent of the npm
 * package while `fetch` uses Node's own copy. undici publishes every request it makes, and our handler takes the place
 * of the one it was given. The time a request waits in a Pool is not seen here; global-dispatcher.ts sees it.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { normalOrigin } from '../origin.ts'
import { missing } from './add-fields.ts'
import { boundHandler, BoundedHandler } from './bounded-handler.ts'
import type { Bounds } from './call.ts'
import { isSendingBounded } from './interceptor.ts'
import type { Handler } from './undici-types.ts'

const CREATED = 'undici:request:create'

/** undici's class of requests, once per copy. */
interface UndiciRequest {
  readonly origin?: unknown
  readonly body?: unknown
  /** Names and values, flat; written out by now. */
  readonly headers?: unknown
  addHeader?(name: string, value: string): unknown
  /** undici 8 and later. */
  readonly onRequestStart?: unknown
  [symbol: symbol]: unknown
}

/** Bounds requests until the returned function is called. */
export function boundOtherCopies(bounds: Bounds): () => void {
  /** Classes whose requests have been seen to be bounded where they are dispatched, also those that wait in a Pool. */
  const known = new WeakSet<object>()

  const onCreated = (message: unknown): void => {
    bounds.guarded(() => {
      const { request } = message as { request: UndiciRequest }
      const copy = request.constructor
      if (isSendingBounded()) {
        known.add(copy)
        return
      }
      if (known.has(copy)) return
      const symbol = Object.getOwnPropertySymbols(request).find(({ description }) => description === 'handler')
      const origin = normalOrigin(request.origin)
      if (symbol === undefined || origin === undefined) return
      const handler = request[symbol] as Handler | null
      if (typeof handler !== 'object' || handler === null || handler instanceof BoundedHandler) return
      const withController = typeof request.onRequestStart === 'function'
      const { bounded, refusal } = boundHandler(bounds, origin, handler, request, withController)
      request[symbol] = bounded
      if (refusal !== undefined) bounded.refuse(refusal)
      else if (typeof request.addHeader === 'function' && Array.isArray(request.headers)) {
        for (const field of missing(request.headers, bounded.deadlineFields())) request.addHeader(...field)
      }
    })
  }
  subscribe(CREATED, onCreated)
  return () => unsubscribe(CREATED, onCreated)
}
