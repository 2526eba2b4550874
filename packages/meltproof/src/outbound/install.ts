/** Turns the bounds on for the whole process, and off again. */
import { emitWarning } from 'node:process'
import { Bounds } from './call.ts'
import { guardConnects } from './connect-guard.ts'
import { failOpen } from './fail-open.ts'
import { aroundGlobalDispatchers } from './global-dispatcher.ts'
import { dispatchBounded } from './interceptor.ts'
import { type CallLimits, LimitTable, type OutboundOptions } from './limits.ts'
import { boundNodeHttp } from './node-http.ts'
import { boundOtherCopies } from './other-copies.ts'
import type { Dispatch, DispatchOptions, Handler } from './undici-types.ts'

/** Takes the bounds off again. Calls in flight go on without them. Any number of times. */
export type Uninstall = () => void

/**
 * Bounds everything the process sends: `fetch` and undici, `node:http` and `node:https` with all that is built on
 * them. Each limit is counted in time our own event loop could turn, so none of them is ever our own stall.
 *
 * ```js
 * install({ origins: { 'https://reports.internal': { totalMs: 60_000 } } })
 * ```
 *
 * Installing again replaces the limits; the latest `install` counts, and its uninstall takes everything off.
 * Throws a MeltproofError for an unknown option, a value out of range or a malformed origin.
 */
export function install(limits: OutboundOptions = {}): Uninstall {
  return installBounds(new Bounds(new LimitTable(limits)))
}

/** For meltproof/register: limits for an app that did not ask, replaced by its own `install()`. */
export function installQuietly(defaults: CallLimits, onFirst: () => void): Uninstall {
  return installBounds(new Bounds(new LimitTable({}, defaults), onFirst))
}

/**
 * An interceptor for an undici 7 or 8 dispatcher of your own, where you do not want the whole process bounded:
 * `new Agent().compose(bounded({ totalMs: 2000 }))`. Its calls and bulkhead are its own.
 */
export function bounded(limits: OutboundOptions = {}): (dispatch: Dispatch) => Dispatch {
  const bounds = new Bounds(new LimitTable(limits))
  const guarded = failOpen(warn)
  return dispatch => (options, handler) => dispatchBounded(bounds, guarded, dispatch, options, handler)
}

/** Where the latest install of the process is kept, also for another copy of meltproof: calls are bounded once. */
const CURRENT: unique symbol = Symbol.for('meltproof.outbound.uninstall') as never
const shared = globalThis as { [CURRENT]?: Uninstall | undefined }

function installBounds(bounds: Bounds): Uninstall {
  shared[CURRENT]?.()
  const parts: Uninstall[] = []
  let installed = true
  const uninstall = (): void => {
    if (!installed) return
    installed = false
    if (shared[CURRENT] === uninstall) delete shared[CURRENT]
    bounds.active = false
    for (const part of parts) part()
  }
  const guarded = failOpen(error => {
    uninstall()
    warn(error)
  })
  parts.push(
    aroundGlobalDispatchers((dispatch: Dispatch, options: DispatchOptions, handler: Handler, ownOrigin) =>
      dispatchBounded(bounds, guarded, dispatch, options, handler, ownOrigin),
    ),
    boundOtherCopies(bounds, guarded),
    boundNodeHttp(bounds, guarded),
    guardConnects(guarded),
  )
  shared[CURRENT] = uninstall
  return uninstall
}

function warn(error: unknown): void {
  emitWarning(
    `meltproof/outbound failed and stepped aside; outbound calls have no bounds from here on. ${String(error)}`,
    {
      type: 'MeltproofWarning',
    },
  )
}
