/** What every part of the observer shares. */

/** Nothing is noted before the load begins: what an app does once, while it starts, melts nothing. */
export interface Watching {
  readonly on: boolean
  /** That of the last request, with its query, while each request is alone; else empty. */
  readonly path: string
}

/** Whatever goes wrong in here is none of the app's business. */
export function quietly(look: () => void): void {
  try {
    look()
  } catch {}
}
