/** Bounds what a dispatcher sends, whichever undici it is from: a function around `dispatch`, as undici composes them. */
import { addFields } from './add-fields.ts'
import type { Bounds } from './call.ts'
import { BoundedCallbacks, BoundedController } from './bounded-handler.ts'
import type { Guarded } from './fail-open.ts'
import type { Dispatch, DispatchOptions, Handler } from './undici-types.ts'

/** Marks options that are bounded already: an Agent hands them on to its Pool, and that to its Client. */
const BOUNDED: unique symbol = Symbol('meltproof.bounded')

/** Origins written as undici gets them -> normalised. */
const known = new Map<string, string>()
const MOST_KNOWN = 1_000

/** Sends it with `dispatch`, bounded. `ownOrigin` finds that of a dispatcher made for one. */
export function dispatchBounded(
  bounds: Bounds,
  guarded: Guarded,
  dispatch: Dispatch,
  options: DispatchOptions,
  handler: Handler,
  ownOrigin?: () => string | undefined,
): boolean {
  const plan = guarded(() => {
    if (typeof options !== 'object' || options === null || options[BOUNDED] === true) return undefined
    if (typeof handler !== 'object' || handler === null) return undefined
    const origin = normalOrigin(options.origin) ?? ownOrigin?.()
    if (origin === undefined) return undefined
    const bounded =
      typeof handler.onRequestStart === 'function'
        ? new BoundedController(handler, options, guarded)
        : new BoundedCallbacks(handler, options, guarded)
    const refusal = bounded.begin(bounds, origin)
    const headers = refusal === undefined ? addFields(options['headers'], bounded.deadlineFields()) : undefined
    return { bounded, refusal, headers }
  }, undefined)
  if (plan === undefined) return dispatch(options, handler)
  const { bounded, refusal, headers } = plan
  if (refusal !== undefined) {
    const { body } = options as { body?: { destroy?: (error: Error) => void } }
    if (typeof body?.destroy === 'function') body.destroy(refusal)
    bounded.fail(refusal)
    return true
  }
  sending++
  try {
    return dispatch({ ...options, headers, [BOUNDED]: true }, bounded)
  } catch (error) {
    bounded.abandon()
    throw error
  } finally {
    sending--
  }
}

let sending = 0

/** True while a dispatcher works on what is bounded: a request that comes into being now is bounded. */
export function isSendingBounded(): boolean {
  return sending > 0
}

/** `scheme://host[:port]` in lower case, default ports left out; undefined for what is not an origin. */
export function normalOrigin(origin: unknown): string | undefined {
  if (origin instanceof URL) return origin.origin
  if (typeof origin !== 'string') return undefined
  let normal = known.get(origin)
  if (normal === undefined) {
    normal = URL.parse(origin)?.origin
    if (normal === undefined) return undefined
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(origin, normal)
  }
  return normal
}
