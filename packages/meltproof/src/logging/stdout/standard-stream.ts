import type { Writable } from 'node:stream'
import { isMainThread } from 'node:worker_threads'
import type { Sink } from './buffered-writer.ts'
import { descriptorSink, type Handle, identityOf } from './descriptor-sink.ts'

export type Fd = 1 | 2
export const STREAM_NAMES = { 1: 'stdout', 2: 'stderr' } as const

/** Undefined for a stream that cannot be opened, such as one with a closed descriptor. */
export function standardStream(fd: Fd): Writable | undefined {
  try {
    const stream: Writable | undefined = process[STREAM_NAMES[fd]]
    return typeof stream?.write === 'function' ? stream : undefined
  } catch {
    return undefined
  }
}

export function streamsAreOne(): boolean {
  const identity = identityOf(1)
  return isMainThread && identity !== undefined && identity === identityOf(2)
}

export function standardSink(fd: Fd, stream: Writable, ready: () => void): Sink {
  const { fd: streamFd, isTTY, _handle: handle } = stream as { fd?: number; isTTY?: boolean; _handle?: Handle }
  if (!isMainThread || streamFd !== fd) return streamSink(stream, ready)
  const sink = descriptorSink(fd, isTTY === true, handle ?? undefined)
  const other = fd === 1 && streamsAreOne() ? standardStream(2) : undefined
  return afterEarlyWrites(sink, other === undefined ? [stream] : [stream, other])
}

/** Earlier writes go first: until libuv has written them, meltproof does not use the descriptor. */
function afterEarlyWrites(sink: Sink, streams: readonly Writable[]): Sink {
  const early = new Set(streams.filter(({ writableLength }) => writableLength > 0))
  if (early.size === 0) return sink
  for (const stream of early) stream.write('', () => early.delete(stream))
  return { ...sink, write: output => (early.size > 0 ? 0 : sink.write(output)) }
}

/**
 * Writes one batch after the other to a stream. For the standard streams of a worker thread, which are messages to the
 * main thread, and for streams without a descriptor.
 */
function streamSink(stream: Writable, ready: () => void): Sink {
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
      const bytes = Buffer.from(output as string)
      Reflect.apply(write, stream, [bytes, done])
      return bytes.length
    },
    close: () => undefined,
  }
}
