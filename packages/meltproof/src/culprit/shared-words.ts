/** What the main thread and its watcher share. */

/** Words of 32 bits. */
export const TOKEN = 0
export const PAUSED = 1
/** Nothing ever changes or notifies this one: the watcher sleeps on it. */
export const NEVER = 2

/** Points in time, ms of the system's monotonic clock. */
export const BEAT_AT = 0
/** How late a beat may come before the watcher looks. */
export const DUE_AT = 1
export const ASKED_AT = 2

export interface SharedWords {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly times: Float64Array<SharedArrayBuffer>
}

export function shareWords(): SharedWords {
  return { words: new Int32Array(new SharedArrayBuffer(12)), times: new Float64Array(new SharedArrayBuffer(24)) }
}
