/** A call on its way through undici's dispatchers, from the first until a connection creates a request of it. */
import type { Call } from './call.ts'

export class Dispatched {
  call: Call | undefined
  /** The dispatcher that accepted it last. A Client (undici 7 and later) shows whether it is connected. */
  dispatcher: { readonly stats?: { readonly connected?: unknown } } | undefined = undefined
  /** Updates the deadline fields that its tier receives. */
  tell: (() => void) | undefined = undefined
  #made = false

  constructor(call?: Call) {
    this.call = call
  }

  /** A request was created for the call. Returns false if there was one before: it is retried or redirected. */
  taken(): boolean {
    if (this.#made) return false
    this.#made = true
    this.call?.connecting()
    return true
  }

  /** True while the call waits in a Pool, or in the queue of a Client. */
  protected get waits(): boolean {
    return !this.#made || this.dispatcher?.stats?.connected === true
  }
}
