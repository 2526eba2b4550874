/** A call between the first of undici's dispatchers and the request that a Client creates for it. */
import type { Call } from './call.ts'

export class Dispatched {
  call: Call | undefined
  /** The dispatcher that received the call last. A Client of undici 7 or later shows whether it is connected. */
  dispatcher: { readonly stats?: { readonly connected?: unknown } } | undefined = undefined
  /** Updates the header fields for the tier that is called. */
  tell: (() => void) | undefined = undefined
  #made = false

  constructor(call?: Call) {
    this.call = call
  }

  /** undici has created a request for the call. Returns false for a further one, created by a retry or a redirect. */
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
