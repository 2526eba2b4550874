/** A call on its way through the dispatchers of undici, from the first until a connection has made a request of it. */
import type { Call } from './call.ts'

export class Dispatched {
  call: Call | undefined
  /** The last that has taken it on. A Client (undici 7 and later) tells whether it is connected. */
  dispatcher: { readonly stats?: { readonly connected?: unknown } } | undefined = undefined
  /** Tells the tier that it goes to what is left by now. */
  tell: (() => void) | undefined = undefined
  #made = false

  constructor(call?: Call) {
    this.call = call
  }

  /** A request is made of it; false when one was before: it is tried again, or redirected. */
  taken(): boolean {
    if (this.#made) return false
    this.#made = true
    this.call?.connecting()
    return true
  }

  /** It waits in a Pool, or in the line of a Client. */
  protected get waits(): boolean {
    return !this.#made || this.dispatcher?.stats?.connected === true
  }
}
