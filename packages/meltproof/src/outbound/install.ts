/** Bounds the whole process, or one dispatcher. */
import { pid } from 'node:process'
import { warn } from '../warnings.ts'
import { tellsTiers } from '../chain.ts'
import { markBound, unknownClient } from './bound-client.ts'
import { Bounds, installedBounds, setInstalledBounds } from './bounds.ts'
import { guardConnects } from './connect-guard.ts'
import { LimitTable, type OutboundLimits } from './limits.ts'
import { holdRequests, nodeHttp } from './node-http.ts'
import { adoptDispatchers, dispatchBounded, undiciRequests } from './undici.ts'
import type { Dispatch } from './undici-types.ts'

/** Takes the bounds off. Calls in flight continue without them. Any number of times. @experimental */
export type Uninstall = () => void

/**
 * Bounds everything the process sends: `fetch` and undici, `node:http` and `node:https` with all that is built on them.
 * No limit passes because of a stall of our own event loop. Installing again replaces the limits; any uninstall of the
 * latest takes everything off.
 *
 * @example install({ origins: { 'https://reports.internal': { totalMs: 60_000 } } })
 * @throws MeltproofError for an unknown option, a value out of range or a malformed origin.
 * @experimental
 */
export function install(limits: OutboundLimits = {}): Uninstall {
  return installLimits(new LimitTable(limits))
}

/**
 * Bounds one dispatcher of undici, in place, and returns it. It counts its calls in flight by itself.
 *
 * @example bound(new Agent(), { totalMs: 2000 })
 * @throws MeltproofError `MELTPROOF_CLIENT_INVALID` for anything else; for limits as install() does.
 * @experimental
 */
export function bound<T extends object>(dispatcher: T, limits: OutboundLimits = {}): T {
  const bounds = new Bounds(new LimitTable(limits), stepAside)
  const patched = dispatcher as { dispatch?: Dispatch }
  const original = patched?.dispatch
  if (typeof original !== 'function') throw unknownClient('outbound', 'a dispatcher of undici', dispatcher)
  if (markBound(dispatcher)) {
    patched.dispatch = (options, handler) => dispatchBounded(bounds, dispatcher, original, options, handler)
    // A request is made when it has left the line of its Pool.
    undiciRequests.use()
    if (bounds.limits.tells) tellsTiers()
  }
  return dispatcher
}

/** The latest install of the process, by whichever copy of meltproof: calls are bounded once. */
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
    if (installedBounds() === bounds) setInstalledBounds(undefined)
    bounds.takeOff()
    for (const part of parts) part()
    parts = []
  }
  const failed = (error: unknown): void => {
    uninstall()
    stepAside(error)
  }
  const bounds = new Bounds(limits, failed, onFirst)
  setInstalledBounds(bounds)
  parts.push(adoptDispatchers(), undiciRequests.use(), nodeHttp.use(), guardConnects(bounds))
  if (limits.adapts) parts.push(holdRequests())
  if (limits.tells) parts.push(tellsTiers())
  // The limits with it: `meltlab audit` asks whether a call is bounded.
  shared[CURRENT] = Object.assign(uninstall, { everywhere: limits.everywhere })
  return uninstall
}

function stepAside(error: unknown): void {
  warn(
    `meltproof/outbound failed in process ${pid} and has stepped aside; outbound calls are no longer limited. ${String(error)}`,
  )
}
