/**
 * Writes to a stream of somebody else's, one batch after the other: for the standard streams of a worker thread, which
 * are messages to the main thread, and for streams without a descriptor.
 */
import type { Writable } from 'node:stream'
import type { Sink } from './buffered-writer.ts'

/** `ready` is called when there is room again. */
export function streamSink(stream: Writable, ready: () => void): Sink {
  const { write } = stream
  let busy = false
  const done = (): void => {
    busy = false
    ready()
  }
  return {
    batchBytes: 65_536,
    takesAll: false,
    write(output) {
      if (busy) return 0
      busy = true
      const bytes = typeof output === 'string' ? Buffer.from(output) : output
      Reflect.apply(write, stream, [bytes, done])
      return bytes.length
    },
    close: () => undefined,
  }
}
