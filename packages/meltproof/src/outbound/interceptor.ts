/** Bounds what a dispatcher sends, whichever undici it is from. */
import { normalOrigin } from '../origin.ts'
import { addFields } from './add-fields.ts'
import { boundHandler } from './bounded-handler.ts'
import type { Bounds } from './call.ts'
import type { Dispatch, DispatchOptions, Handler } from './undici-types.ts'

/** Marks options that are bounded already: an Agent hands them on to its Pool, and that to its Client. */
const BOUNDED: unique symbol = Symbol('meltproof.bounded')

/** Sends it with `dispatch`, bounded. `ownOrigin` finds that of a dispatcher made for one. */
export function dispatchBounded(
  bounds: Bounds,
  dispatch: Dispatch,
  options: DispatchOptions,
  handler: Handler,
  ownOrigin: () => string | undefined,
): boolean {
  const plan = bounds.guarded(() => {
    if (typeof options !== 'object' || options === null || options[BOUNDED] === true) return undefined
    if (typeof handler !== 'object' || handler === null) return undefined
    const origin = normalOrigin(options.origin) ?? ownOrigin()
    if (origin === undefined) return undefined
    const made = boundHandler(bounds, origin, handler, options, typeof handler.onRequestStart === 'function')
    return { ...made, headers: addFields(options['headers'], made.bounded.deadlineFields()) }
  })
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
    bounded.end()
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
