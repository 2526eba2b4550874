/** The memory that the main thread and its watcher share. */

/** Indexes of words in the shared Int32Array. TOKEN counts the samples that the watcher has asked for. */
export const TOKEN = 0
/** 1 while the inspector is open, and from the moment when the watcher must end. */
export const PAUSED = 1
/** This word never changes and is never notified: the watcher sleeps on it. */
export const NEVER = 2
/** 1 while the watcher has a session, or is about to open one. */
export const CONNECTED = 3

/** Indexes of times in the shared Float64Array, ms of the system's monotonic clock. */
export const BEAT_AT = 0
/** When the watcher will ask for a sample, unless the main thread's next heartbeat arrives first. */
export const DUE_AT = 1
export const ASKED_AT = 2

export interface SharedWords {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly times: Float64Array<SharedArrayBuffer>
}

export function shareWords(): SharedWords {
  return { words: new Int32Array(new SharedArrayBuffer(16)), times: new Float64Array(new SharedArrayBuffer(24)) }
}
