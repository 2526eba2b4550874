/** State that all parts of the observer share. */

/** Nothing is recorded before the load begins: work that an app does once at its start causes no overload. */
export interface Watching {
  readonly on: boolean
  /** The path of the last request with its query, in the phase `alone`; otherwise empty. */
  readonly path: string
}

/** Ignores exceptions of the observer, which must not reach the app. */
export function quietly(look: () => void): void {
  try {
    look()
  } catch {}
}
