import { pid } from 'node:process'
import { informsTiers } from '../chain.ts'
import { warn } from '../warnings.ts'
import { markBound, unknownClient } from './bound-client.ts'
import { Bounds, installed } from './bounds.ts'
import { guardConnects } from './connect-guard.ts'
import { LimitTable, type OutboundLimits } from './limits.ts'
import { holdRequests, useNodeHttp } from './node-http.ts'
import { adoptDispatchers, dispatchBounded, useUndiciRequests } from './undici.ts'
import type { Dispatch } from './undici-types.ts'

/** Removes the limits. Calls in flight continue without them. May be called repeatedly. @experimental */
export type Uninstall = () => void

/**
 * Limits all HTTP calls of the process: those of `fetch`, undici, `node:http`, `node:https` and everything built on
 * them. A stall of this process's event loop extends the limits, at most twofold. A second install() replaces the
 * limits, and the uninstall function of the first then does nothing.
 *
 * @example install({ origins: { 'https://reports.internal': { totalMs: 60_000 } } })
 * @throws MeltproofError for an unknown option, a value out of range or a malformed origin.
 * @experimental
 */
export function install(limits: OutboundLimits = {}): Uninstall {
  return installLimits(new LimitTable(limits))
}

/**
 * Limits one undici dispatcher, in place, and returns it. Its calls in flight are counted separately.
 *
 * @example bound(new Agent(), { totalMs: 2000 })
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID` if it is not a dispatcher; for invalid limits as install().
 * @experimental
 */
export function bound<T extends object>(dispatcher: T, limits: OutboundLimits = {}): T {
  const bounds = new Bounds(new LimitTable(limits), stepAside)
  const patched = dispatcher as { dispatch?: Dispatch }
  const original = patched?.dispatch
  if (typeof original !== 'function') throw unknownClient('outbound', 'a dispatcher of undici', dispatcher)
  if (markBound(dispatcher)) {
    patched.dispatch = (options, handler) => dispatchBounded(bounds, dispatcher, original, options, handler)
    // undici publishes each request when it leaves the queue of its Pool. The call needs that event.
    useUndiciRequests()
    if (bounds.limits.tells) informsTiers()
  }
  return dispatcher
}

/** Uninstall function of the latest install(). All copies of meltproof share it, so that no call is limited twice. */
const CURRENT: unique symbol = Symbol.for('meltproof.outbound.uninstall') as never
const shared = globalThis as { [CURRENT]?: Uninstall | undefined }

export function isInstalled(): boolean {
  return shared[CURRENT] !== undefined
}

export function installLimits(limits: LimitTable, onFirst?: () => void): Uninstall {
  shared[CURRENT]?.()
  let parts: Uninstall[] = []
  const uninstall = (): void => {
    if (shared[CURRENT] === uninstall) delete shared[CURRENT]
    if (installed.bounds === bounds) installed.bounds = undefined
    bounds.lift()
    for (const part of parts) part()
    parts = []
  }
  const failed = (error: unknown): void => {
    uninstall()
    stepAside(error)
  }
  const bounds = new Bounds(limits, failed, onFirst)
  installed.bounds = bounds
  parts.push(adoptDispatchers(), useUndiciRequests(), useNodeHttp(), guardConnects(bounds))
  if (limits.adapts) parts.push(holdRequests())
  if (limits.tells) parts.push(informsTiers())
  // `meltlab audit` reads the limits to see whether calls are limited.
  shared[CURRENT] = Object.assign(uninstall, { everywhere: limits.everywhere })
  return uninstall
}

function stepAside(error: unknown): void {
  warn(
    `meltproof/outbound failed in process ${pid} and has stepped aside; outbound calls are no longer limited. ${String(error)}`,
  )
}
