/** Listeners on diagnostics channels that several parts share: subscribed once, while at least one part uses them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { installed } from './bounds.ts'

/** Returns a function that starts listening. The function that it returns stops listening. */
export function sharedListeners(listeners: Readonly<Record<string, (message: never) => void>>): () => () => void {
  const all = Object.entries(listeners).map(([channel, listener]) => [channel, guarded(listener)] as const)
  let users = 0
  return () => {
    if (users++ === 0) for (const [channel, listener] of all) subscribe(channel, listener)
    let using = true
    return () => {
      if (using && --users === 0) for (const [channel, listener] of all) unsubscribe(channel, listener)
      using = false
    }
  }
}

/** A message of an unexpected shape must not make the client fail. It removes the limits of install(), if any. */
function guarded(listener: (message: never) => void): (message: unknown) => void {
  return message => {
    const { bounds } = installed
    try {
      listener(message as never)
    } catch (error) {
      bounds?.failed(error)
    }
  }
}
