/**
 * Hands bytes to a stream of somebody else's, one batch at a time, and the next when that is through: for the standard
 * streams of a worker thread, which are messages to the main thread, and for streams without a descriptor.
 */
import type { Sink } from './sink.ts'

export function relaySink(write: (bytes: Uint8Array, done: () => void) => void, ready: () => void): Sink {
  let busy = false
  return {
    batchBytes: 65_536,
    takesAll: false,
    write(data) {
      if (busy) return 0
      busy = true
      const bytes = typeof data === 'string' ? Buffer.from(data) : data
      write(bytes, () => {
        busy = false
        ready()
      })
      return bytes.length
    },
    close: () => undefined,
  }
}
