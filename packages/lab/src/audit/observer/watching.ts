/** What every part of the observer shares. */

/** Nothing is noted before the load begins: what an app does once, while it starts, melts nothing. */
export interface Watching {
  readonly on: boolean
}

/** Whatever goes wrong in here is none of the app's business. */
export function quietly(look: () => void): void {
  try {
    look()
  } catch {}
}
