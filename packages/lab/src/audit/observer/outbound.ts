/** Observes the calls of fetch, node:http and node:https, and whether a limit ends their wait. */
import { subscribe } from 'node:diagnostics_channel'
import http, { type Agent, type ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { callSite, type Site } from './call-site.ts'
import { type Observations, quietly } from './observations.ts'

export function watchFetch(observations: Observations): void {
  const { fetch } = globalThis
  if (typeof fetch !== 'function') return
  const observed = function (this: unknown, ...args: Parameters<typeof fetch>): ReturnType<typeof fetch> {
    if (observations.on) {
      quietly(() => {
        const [input, init] = args
        // A Request may carry a signal that is not visible here, and a custom dispatcher may have its own limits.
        const unknown = input instanceof Request || (init as { dispatcher?: unknown } | undefined)?.dispatcher
        if (init?.signal || unknown || meltproofBounds() || dispatcherBounds()) return
        observations.add('fetch-unbounded', new URL(String(input)).origin, callSite().where)
      })
    }
    return Reflect.apply(fetch, this, args)
  }
  Object.defineProperties(observed, {
    name: { value: 'fetch', configurable: true },
    length: { value: fetch.length, configurable: true },
  })
  globalThis.fetch = observed
}

interface Limits {
  readonly totalMs: number | false
  readonly firstByteMs: number | false
  readonly maxInFlight: number | false
}

/** A longer limit does not protect a caller; meltproof/register sets one of 15 minutes. */
const LONGEST_BOUND_MS = 60_000

/** meltproof/outbound's limits, for calls without their own. */
function meltproofLimits(): Limits | undefined {
  const shared = globalThis as { [uninstall: symbol]: { readonly everywhere?: Limits } | undefined }
  return shared[Symbol.for('meltproof.outbound.uninstall')]?.everywhere
}

function meltproofBounds(): boolean {
  const limits = meltproofLimits()
  if (limits === undefined) return false
  // The deadline of a request also limits the calls made for it.
  if (process.env['MELTPROOF_DEADLINE'] !== undefined) return true
  return [limits.totalMs, limits.firstByteMs].some(limit => limit !== false && limit <= LONGEST_BOUND_MS)
}

function dispatcherBounds(): boolean {
  const shared = globalThis as { [dispatcher: symbol]: Record<symbol, unknown> | undefined }
  const dispatcher = shared[Symbol.for('undici.globalDispatcher.1')]
  if (dispatcher === undefined) return false
  const symbol = Object.getOwnPropertySymbols(dispatcher).find(({ description }) => description === 'options')
  if (symbol === undefined) return false
  const { headersTimeout, bodyTimeout } = dispatcher[symbol] as { headersTimeout?: number; bodyTimeout?: number }
  return Boolean(headersTimeout && bodyTimeout)
}

interface Open {
  readonly site: Site
  signal: boolean
}

type Request = ClientRequest & { readonly timeoutCb?: unknown; readonly timeout?: number }

/** Maximum number of open requests that are recorded, so that a dependency that never answers does not fill memory. */
const MOST_OPEN = 1000

export function watchHttp(observations: Observations): void {
  const open = new Map<Request, Open>()
  const heedSignals = watchSignals(observations)
  subscribe('http.client.request.created', message => {
    if (!observations.on || open.size >= MOST_OPEN) return
    quietly(() => {
      const call = { site: callSite(), signal: false }
      heedSignals(call)
      open.set((message as { request: Request }).request, call)
    })
  })
  // Runs when a request ends, because the app may set its timeout after creating the request.
  const decide = (request: Request): void => {
    const call = open.get(request)
    open.delete(request)
    if (call === undefined || call.signal || isBounded(request) || meltproofBounds()) return
    observations.add('http-unbounded', originOf(request), call.site.where)
  }
  for (const end of ['http.client.response.finish', 'http.client.request.error']) {
    subscribe(end, message => quietly(() => decide((message as { request: Request }).request)))
  }
  watchAgents((request, agent, queue) => {
    if (!observations.on || (meltproofBounds() && meltproofLimits()?.maxInFlight !== false)) return
    const { where } = callSite()
    const waits = `${originOf(request)} (maxSockets ${Math.min(agent.maxSockets, agent.maxTotalSockets)})`
    // In the next tick it is known whether a signal ends the wait.
    process.nextTick(() => {
      if (open.get(request)?.signal !== true) observations.add('agent-endless', waits, where, queue)
    })
  })
}

/** The calls made before the next microtask, and whether a signal got a listener in that time. */
interface Stretch {
  listens: boolean
  readonly calls: Open[]
}

/**
 * Finds the requests that a signal ends. Node does not store the signal, but the code that makes the request also adds
 * the signal's listener.
 */
function watchSignals(observations: Observations): (call: Open) => void {
  let stretch: Stretch | undefined
  const current = (): Stretch => {
    if (stretch === undefined) {
      stretch = { listens: false, calls: [] }
      queueMicrotask(() => {
        stretch = undefined
      })
    }
    return stretch
  }
  const { addEventListener } = AbortSignal.prototype
  const observed = function (this: AbortSignal, ...args: Parameters<typeof addEventListener>): void {
    if (observations.on && args[0] === 'abort') {
      const { calls } = Object.assign(current(), { listens: true })
      for (const call of calls) call.signal = true
    }
    Reflect.apply(addEventListener, this, args)
  }
  Object.defineProperty(AbortSignal.prototype, 'addEventListener', {
    value: observed,
    configurable: true,
    writable: true,
    enumerable: false,
  })
  return call => {
    const { listens, calls } = current()
    call.signal = listens
    calls.push(call)
  }
}

function watchAgents(tell: (request: Request, agent: Agent, queue: number) => void): void {
  const prototype = http.Agent.prototype as unknown as { addRequest(...args: unknown[]): unknown }
  const { addRequest } = prototype
  prototype.addRequest = function (this: Agent, ...args: unknown[]): unknown {
    const result = Reflect.apply(addRequest, this, args)
    quietly(() => {
      const request = args[0] as Request
      const queue = Object.values(this.requests).find(waiting => (waiting as unknown[] | undefined)?.includes(request))
      if (queue !== undefined) tell(request, this, queue.length)
    })
    return result
  }
}

/** True if something acts when the socket is silent for too long. A timeout without a listener ends nothing. */
function isBounded(request: Request): boolean {
  const socket = request.socket as (Socket & { timeout?: number }) | null
  // Without a timeout, axios still sets one of 0 and adds a listener.
  if (!((socket === null ? request.timeout : socket.timeout) ?? 0)) return false
  if (request.timeoutCb && request.listenerCount('timeout') > 0) return true
  // Node's own two listeners do not end the request.
  return socket?.listeners('timeout').some(({ name }) => name !== 'onTimeout' && name !== 'emitRequestTimeout') ?? false
}

function originOf(request: ClientRequest): string {
  const host = request.getHeader('host') ?? request.host
  return `${request.protocol}//${String(host)}`
}
