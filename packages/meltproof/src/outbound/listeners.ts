/** Listeners on diagnostics channels that several parts share: subscribed once, while at least one part uses them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { installedBounds } from './bounds.ts'

export class SharedListeners {
  readonly #listeners: readonly (readonly [channel: string, listener: (message: unknown) => void])[]
  #users = 0

  constructor(listeners: Readonly<Record<string, (message: never) => void>>) {
    this.#listeners = Object.entries(listeners).map(([channel, listener]) => [channel, guarded(listener)])
  }

  use(): () => void {
    if (this.#users++ === 0) for (const [channel, listener] of this.#listeners) subscribe(channel, listener)
    let using = true
    return () => {
      if (using && --this.#users === 0) {
        for (const [channel, listener] of this.#listeners) unsubscribe(channel, listener)
      }
      using = false
    }
  }
}

/** A message of an unexpected shape is ignored, and must not make the client fail. */
function guarded(listener: (message: never) => void): (message: unknown) => void {
  return message => {
    const bounds = installedBounds()
    try {
      listener(message as never)
    } catch (error) {
      bounds?.failed(error)
    }
  }
}
