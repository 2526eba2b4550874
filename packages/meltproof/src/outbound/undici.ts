/**
 * Sees and limits every request of `fetch` and undici, with two hooks:
 *
 * 1. `dispatch`, where a call begins, before it waits in a Pool. meltproof replaces it in the base class of the
 *    dispatchers, for each copy of undici whose Agent is or was the global one, or whose connection it has seen. So an
 *    app's own Agent, Pool or ProxyAgent of that copy is limited too, whatever `setGlobalDispatcher` sets.
 * 2. The channel on which undici publishes each request. A request that did not pass meltproof's `dispatch` belongs to
 *    a copy of undici that was never global, or is the first one of a newly loaded copy. Its handler is replaced.
 */
import { AsyncResource } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers'
import { unbounded } from '../deadline/context.ts'
import { type Bounds, installed } from './bounds.ts'
import { Call, isObserved } from './call.ts'
import { headerOf } from './headers.ts'
import { sharedListeners } from './listeners.ts'
import { normalOrigin } from './origin.ts'
import { originOfDispatcher, valueUnder } from './undici-client.ts'
import { BoundedCallbacks, BoundedController, BoundedHandler, Dispatched, methodOf } from './undici-handler.ts'
import type { Dispatch, DispatchOptions, Handler } from './undici-types.ts'
import { keepFromEndingProcess } from './without-listener.ts'

// Requests, as undici publishes them ----------------------------------------------------------------------------

/** Property of a request whose call is followed. A WeakMap would cost more, in garbage collection, than the call. */
const CALL: unique symbol = Symbol('meltproof.call')

interface UndiciRequest {
  readonly origin?: string | URL
  readonly method?: string
  readonly path?: unknown
  readonly body?: unknown
  readonly headers?: unknown
  readonly onRequestStart?: unknown
  [CALL]?: Call
  [symbol: symbol]: unknown
}

interface RequestMessage {
  readonly request: UndiciRequest
}

interface ResponseMessage extends RequestMessage {
  readonly response: { readonly statusCode: number; readonly headers: readonly unknown[] }
}

/** Sockets that have carried a call: the next call on them needs no new connection. */
const used = new WeakSet<object>()
/** The call that `dispatch` is sending: a request that undici creates during that dispatch belongs to it. */
let sending: Dispatched | undefined
/** The call whose request undici created last, in this turn of the loop, without meltproof's `dispatch`. */
let undispatched: Dispatched | undefined

export const useUndiciRequests: () => () => void = sharedListeners({
  'undici:request:create': onCreated,
  'undici:client:beforeConnect': () => {
    if (undispatched !== undefined) undispatched.opens = true
  },
  'undici:client:connected': ({ socket }: { readonly socket: Socket }) => {
    // bound() limits one dispatcher, and does not change its class.
    if (adopters > 0) adoptUserOf(socket)
  },
})

export const useUndiciProgress: () => () => void = sharedListeners({
  'undici:client:sendHeaders': ({ request, socket }: RequestMessage & { readonly socket: Socket }) => {
    const made = !used.has(socket)
    request[CALL]?.connected(made, false)
    if (made) adoptUserOf(socket)
    used.add(socket)
  },
  'undici:request:bodySent': ({ request }: RequestMessage) => request[CALL]?.sent(),
  'undici:request:headers': ({ request, response: { statusCode, headers } }: ResponseMessage) => {
    if (statusCode >= 200) request[CALL]?.answered(statusCode, headers)
  },
  'undici:request:trailers': ({ request }: RequestMessage) => request[CALL]?.endRecord(),
  'undici:request:error': ({ request, error }: RequestMessage & { readonly error: unknown }) =>
    request[CALL]?.endRecord(error ?? new Error('failed')),
})

function onCreated({ request }: RequestMessage): void {
  undispatched = undefined
  const carrier = sending ?? carrierOfRequest(request)
  // Further requests that are created during this dispatch belong to other calls.
  sending = undefined
  const call = carrier?.taken()
    ? carrier.call
    : Call.http(normalOrigin(request.origin) ?? 'unknown', methodOf(request.method), request.path, false)
  if (call?.isFollowed === true) request[CALL] = call
  if (carrier?.call === undefined || carrier.call.refusal !== undefined) return
  carrier.updateFields = fieldUpdaterOf(request, carrier.call)
  carrier.updateFields?.()
}

/** Returns a function that writes the fields for a tier; undefined if the request (after redirects) goes to none. */
function fieldUpdaterOf(request: UndiciRequest, call: Call): (() => void) | undefined {
  const { headers } = request
  if (!Array.isArray(headers) || !call.limiter?.tells(targetOf(request))) return undefined
  return () => {
    for (const [name, value] of call.tierFields(name => headerOf(headers, name))) setField(headers, name, value)
  }
}

/** The origin that the request is for. A forward proxy receives the whole URL as path. */
function targetOf({ origin, path }: UndiciRequest): string {
  const isUrl = typeof path === 'string' && /^https?:/.test(path)
  return (isUrl && normalOrigin(path)) || (normalOrigin(origin) ?? 'unknown')
}

/** Sets the field once, and removes other fields with its name. */
function setField(headers: unknown[], name: string, value: string): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (String(headers[at]).toLowerCase() === name) headers.splice(at, 2)
  }
  headers.push(name, value)
}

/** Returns the limiting handler, and installs it if missing; undefined without limits or for an unknown handler. */
function carrierOfRequest(request: UndiciRequest): BoundedHandler | undefined {
  const symbol = Object.getOwnPropertySymbols(request).find(({ description }) => description === 'handler')
  const handler = symbol && (request[symbol] as Handler | null)
  if (handler instanceof BoundedHandler) return handler
  const { bounds } = installed
  if (bounds === undefined) return undefined
  // The first request of a new global copy has not waited in a Pool.
  const isFirst = adoptGlobals()
  const origin = normalOrigin(request.origin)
  if (typeof handler !== 'object' || handler === null || origin === undefined) return undefined
  const Kind = typeof request.onRequestStart === 'function' ? BoundedController : BoundedCallbacks
  const begin = (): BoundedHandler => new Kind(bounds, origin, handler, request)
  const carrier = isFirst ? begin() : inContextOf(handler, begin)
  request[symbol!] = carrier
  undispatched = carrier
  setImmediate(() => {
    if (undispatched === carrier) undispatched = undefined
  })
  carrier.call?.waitsFor?.cancelled() // This request cannot be held back.
  if (carrier.call?.refusal !== undefined) carrier.refuse(carrier.call.refusal)
  return carrier
}

/**
 * Begins a call that may have waited in a Pool before meltproof saw it. A Pool of undici 7 takes it out of its queue in
 * the async context of another call, whose budget must not end this one. The handlers of `request()` and `stream()`
 * keep the context of their caller. The caller of any other handler is unknown, so such a call has no budget.
 */
function inContextOf<R>(handler: Handler, begin: () => R): R {
  return handler instanceof AsyncResource ? handler.runInAsyncScope(begin) : unbounded(begin)
}

// Dispatchers -----------------------------------------------------------------------------------------------------

/** Property of the options that holds the call: an Agent passes the options to its Pool, and the Pool to a Client. */
const CARRIER: unique symbol = Symbol('meltproof.carrier')

export function dispatchBounded(
  bounds: Bounds,
  dispatcher: object,
  dispatch: Dispatch,
  options: DispatchOptions,
  handler: Handler,
): boolean {
  const known = (options as DispatchOptions | undefined)?.[CARRIER]
  if (known instanceof Dispatched) return send(known, dispatcher, dispatch, options, handler)
  const carrier = bounds.guarded(() => {
    const origin = originOfCall(dispatcher, options)
    if (origin === undefined || typeof handler !== 'object' || handler === null) return undefined
    const Kind = typeof handler.onRequestStart === 'function' ? BoundedController : BoundedCallbacks
    const begin = (): BoundedHandler => new Kind(bounds, origin, handler, options)
    return pooled.has(dispatcher) ? inContextOf(handler, begin) : begin()
  })
  if (carrier === undefined) return dispatch.call(dispatcher, options, handler)
  const refusal = carrier.call?.refusal
  const go = (): boolean => send(carrier, dispatcher, dispatch, { ...options, [CARRIER]: carrier }, carrier)
  if (refusal === undefined) {
    const waiting = carrier.call?.waitsFor
    if (waiting === undefined) return go()
    waiting.onStart(() => {
      try {
        go()
      } catch (error) {
        carrier.fail(error as Error)
      }
    })
    return true
  }
  const { body } = options as { body?: EventEmitter & { destroy?: (error: Error) => void } }
  if (typeof body?.destroy === 'function') {
    if (typeof body.emit === 'function') keepFromEndingProcess(body, refusal)
    body.destroy(refusal)
  }
  carrier.fail(refusal)
  return true
}

/** Begins the call here, so that its wait in a Pool counts, and the app's request that makes it is still known. */
function dispatchObserved(dispatcher: object, dispatch: Dispatch, options: DispatchOptions, handler: Handler): boolean {
  const known = (options as DispatchOptions | undefined)?.[CARRIER]
  if (known instanceof Dispatched) return send(known, dispatcher, dispatch, options, handler)
  const origin = originOfCall(dispatcher, options)
  if (origin === undefined) return dispatch.call(dispatcher, options, handler)
  const carrier = new Dispatched(Call.http(origin, methodOf(options.method), options.path, true))
  return send(carrier, dispatcher, dispatch, { ...options, [CARRIER]: carrier }, handler)
}

function send(
  carrier: Dispatched,
  dispatcher: object,
  dispatch: Dispatch,
  options: DispatchOptions,
  handler: Handler,
): boolean {
  const outer = sending
  sending = carrier
  carrier.dispatcher = dispatcher
  try {
    return dispatch.call(dispatcher, options, handler)
  } catch (error) {
    carrier.call?.end(error)
    throw error
  } finally {
    sending = outer
  }
}

function originOfCall(dispatcher: object, options: DispatchOptions): string | undefined {
  if (typeof options !== 'object' || options === null) return undefined
  return normalOrigin(options.origin) ?? originOfDispatcher(dispatcher)
}

/** undici stores its global dispatcher here: under the first symbol since undici 5, the second since 7.27. */
const GLOBALS = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')] as const

/** Base classes with meltproof's `dispatch`, and functions that restore the original. */
const adopted = new Map<object, () => void>()
let adopters = 0
/** Pools and Agents listen to these events of their Clients. */
const POOL_EVENTS = ['connect', 'connectionError', 'disconnect', 'drain'] as const
/** Clients of a Pool or Agent. A call that begins in one of them waited in the Pool when the copy was adopted. */
const pooled = new WeakSet<object>()

/** Until the returned function is called, install() limits all dispatchers, and observers see their calls. */
export function adoptDispatchers(): () => void {
  adopters++
  adoptGlobals()
  return () => {
    if (--adopters > 0) return
    for (const putBack of adopted.values()) putBack()
    adopted.clear()
  }
}

/** Returns true if a copy has become global since the last call of this function. */
function adoptGlobals(): boolean {
  const before = adopted.size
  for (const symbol of GLOBALS) {
    const dispatcher = (globalThis as unknown as Record<symbol, unknown>)[symbol]
    if (typeof dispatcher === 'object' && dispatcher !== null) adoptBaseOf(dispatcher)
  }
  return adopted.size > before
}

/** Adopts the base class of a connection's Client, which may be of a copy of undici that is not the global one. */
function adoptUserOf(socket: Socket): void {
  const client = valueUnder('client', socket)
  if (!(client instanceof EventEmitter)) return
  adoptBaseOf(client)
  if (POOL_EVENTS.every(name => client.listenerCount(name) > 0)) pooled.add(client)
}

/** Adopts the first prototype that defines `dispatch`: for undici's own classes that is the base of all dispatchers. */
function adoptBaseOf(dispatcher: object): void {
  for (let at: object | null = dispatcher; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const own = Object.getOwnPropertyDescriptor(at, 'dispatch')
    if (typeof own?.value !== 'function' || own.writable !== true) continue
    if (!adopted.has(at)) adopted.set(at, adopt(at, own))
    return
  }
}

function adopt(base: object, own: PropertyDescriptor): () => void {
  const original = own.value as Dispatch
  let active = true
  const bounded = function dispatch(this: object, options: DispatchOptions, handler: Handler): boolean {
    const bounds = active ? installed.bounds : undefined
    if (bounds !== undefined) return dispatchBounded(bounds, this, original, options, handler)
    if (active && isObserved()) return dispatchObserved(this, original, options, handler)
    return original.call(this, options, handler)
  }
  Object.defineProperty(base, 'dispatch', { ...own, value: bounded })
  return () => {
    active = false
    // If other code has wrapped `dispatch` since, meltproof's function stays and passes every call through.
    if ((base as { dispatch?: unknown }).dispatch === bounded) Object.defineProperty(base, 'dispatch', own)
  }
}
